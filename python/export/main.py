if __name__ == "__main__":
    if not torch.cuda.is_available():
        raise SystemExit(f"{NAME}: the check needs a CUDA GPU, and PyTorch finds none here")
    raise SystemExit(0 if check() else 1)
