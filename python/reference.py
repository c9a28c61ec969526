# Appended to module.py or function.py: what `result` gives in f64, and how roundings move it.
import contextlib
import random
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# The unit roundoff of f32, and the runs that responses to roundings are taken over.
UNIT_ROUNDOFF = 2.0**-24
RUNS = 6
# Elements that are changed at once, by numbers of their own; in larger tensors by parts of twice as many numbers.
CHUNK = 1 << 24
# Most bytes of responses that are kept for a second call, which asks for the elements that differ.
KEPT_BYTES = 4 << 30
KEPT = {}
# Seconds that the runs of a second look may take.
SECOND_LOOK_S = 30.0
# Largest difference of two runs on equal inputs, as a part of the largest magnitude: sums of other orders.
SAME = 1e-9


def signs(n, device, generator):
    return torch.randint(0, 2, (n,), dtype=torch.int8, device=device, generator=generator).double().mul_(2).sub_(1)


def within_two(n, device, generator):
    return torch.rand(n, dtype=torch.float64, device=device, generator=generator).mul_(4).sub_(2)


class Noise:
    """Relative changes in multiples of `unit`, drawn by `draw`."""

    def __init__(self, draw, generator, unit=UNIT_ROUNDOFF):
        self.draw = draw
        self.generator = generator
        self.unit = unit
        self.places = random.Random(generator.initial_seed())
        self.drawn = None

    def apply(self, value):
        if not value.is_contiguous() or value.numel() <= CHUNK:
            value.addcmul_(value, self.numbers(value.numel(), value.device).view(value.shape).to(value.dtype), value=self.unit)
            return
        # Drawing takes most of the time where tensors are large. Parts begin anywhere: none is like its neighbour.
        if self.drawn is None or self.drawn.dtype != value.dtype:
            self.drawn = self.numbers(2 * CHUNK, value.device).to(value.dtype)
        for piece in value.view(-1).split(CHUNK):
            start = self.places.randrange(CHUNK)
            piece.addcmul_(piece, self.drawn[start : start + piece.numel()], value=self.unit)

    def numbers(self, n, device):
        return self.draw(n, device, self.generator)


class Roundings(TorchDispatchMode):
    """Changes every result by one rounding of f32, up or down by chance."""

    def __init__(self, generator):
        super().__init__()
        self.noise = Noise(signs, generator)

    def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
        returned = operator(*args, **(kwargs or {}))
        if operator.is_view:
            return returned
        for value in returned if isinstance(returned, (tuple, list)) else [returned]:
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
                self.noise.apply(value)
        return returned


class Lengths(TorchDispatchMode):
    """Finds the longest chains of additions that operators hide: of any terms, and of products."""

    PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}
    SAME_SIZE = ("cumsum", "softmax", "norm", "logcumsumexp")

    def __init__(self):
        super().__init__()
        self.terms = self.products = 1

    def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
        returned = operator(*args, **(kwargs or {}))
        name = operator._schema.name.removeprefix("aten::").strip("_")
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        if name in self.PRODUCTS:
            self.products = max(self.products, tensors[self.PRODUCTS[name]].shape[-1])
        elif "convolution" in name:
            self.products = max(self.products, tensors[1].numel() // max(1, tensors[1].shape[0]))
        elif "dot_product_attention" in name:
            self.products = max(self.products, *tensors[1].shape[-2:])
        elif tensors and tensors[0].dim() and any(part in name for part in self.SAME_SIZE):
            self.terms = max(self.terms, *tensors[0].shape)
        elif tensors and isinstance(returned, torch.Tensor) and not operator.is_view and returned.numel():
            self.terms = max(self.terms, tensors[0].numel() // returned.numel())
        return returned

    def weight(self):
        """What a bound multiplies its two scales by, beyond that of one operation: see the judge's bound."""
        return max(self.terms, self.products) ** 0.5 + (self.products / 32 if self.products > 1 else 0.0)


def wide(tensors):
    """Copies in f64: the code may write into what it is given."""
    return [value.to(torch.float64 if value.is_floating_point() else value.dtype, copy=True) for value in tensors]


def moved(tensors, generator, unit=UNIT_ROUNDOFF):
    """Tensors in f64 that are off by a rounding or two."""
    values, noise = wide(tensors), Noise(within_two, generator, unit)
    for value in values:
        if value.is_floating_point():
            noise.apply(value)
    return values


def exact(tensors, scalars):
    return result(wide(tensors), in_f64=True, **scalars)


def whole(_at, value):
    return value.double()


def values(*tensors, **scalars):
    """The results in f64, integers as they are."""
    once, again = exact(tensors, scalars), exact(tensors, scalars)
    for at, (one, other) in enumerate(zip(once, again)):
        one, other = one.double(), other.double()
        scale = one.nan_to_num(0.0, 0.0, 0.0).abs().amax().item() if one.numel() else 0.0
        if not torch.allclose(one, other, rtol=0.0, atol=SAME * scale, equal_nan=True):
            raise ValueError(f"result {at} differs between two runs on equal inputs")
    return [value.double() if value.is_floating_point() else value for value in once]


def weighed(tensors, scalars):
    """The results, and the weight of their responses: 1 where kgen knows the lengths, as those of a graph."""
    if not WEIGHED:
        return exact(tensors, scalars), 1.0
    with Lengths() as lengths:
        returned = exact(tensors, scalars)
    return returned, lengths.weight()


def spread(*tensors, **scalars):
    """Of each result the response to roundings of the inputs, weighed."""
    returned, weight = weighed(tensors, scalars)
    expected = [value.double() for value in returned]
    return [value.mul_(weight) for value in response_to_inputs(tensors, expected, whole, scalars)]


def magnitude(*tensors, **scalars):
    """Of each result its scale: the response to roundings of all results in between, over the unit roundoff; weighed."""
    returned, weight = weighed(tensors, scalars)
    return scales(tensors, [value.double() for value in returned], whole, scalars, weight)


def response(tensors, expected, taken, run, runs=RUNS):
    squares = [torch.zeros_like(value) for value in expected]
    for number in range(runs):
        returned = run(torch.Generator(tensors[0].device).manual_seed(number))
        while returned:
            value = returned.pop()
            at = len(returned)
            squares[at].add_((taken(at, value) - expected[at]).nan_to_num_(0.0, 0.0, 0.0).square_())
            del value
    return [square.div_(runs).sqrt_() for square in squares]


def response_to_inputs(tensors, expected, taken, scalars, runs=RUNS, unit=UNIT_ROUNDOFF):
    def run(generator):
        return result(moved(tensors, generator, unit), in_f64=True, **scalars)

    return response(tensors, expected, taken, run, runs)


def scales(tensors, expected, taken, scalars, weight):
    """Of each result the response to roundings of all results in between, over the unit roundoff, or its magnitude where
    that is larger; weighed."""

    def run(generator):
        given = wide(tensors)
        with Roundings(generator):
            return result(given, in_f64=True, **scalars)

    inside = [value.div_(UNIT_ROUNDOFF) for value in response(tensors, expected, taken, run)]
    return [scale.maximum(value.abs()).mul_(weight) for scale, value in zip(inside, expected)]


def reference(*tensors, **scalars):
    """The results in f64, rounded to f32."""
    KEPT.clear()
    returned = exact(tensors, scalars)
    # One after the other: memory is short where cases are large.
    return [returned.pop(0).float() for _ in range(len(returned))]


def responses(tensors, returned, weight, taken, scalars):
    """
    Of each result: the values in f64, their response to roundings of the inputs, and that to roundings of
    all results over the unit roundoff; both weighed. `taken` picks elements of a result by its number.
    """
    expected = [taken(at, value) for at, value in enumerate(returned)]
    returned.clear()
    to_inputs = response_to_inputs(tensors, expected, taken, scalars)
    inside = scales(tensors, expected, taken, scalars, weight)
    return list(zip(expected, [value.mul_(weight) for value in to_inputs], inside))


@contextlib.contextmanager
def full_f32():
    """Products of f32 as they are, whatever the precision of this evaluation allows."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def coarse_response(tensors, taken, scalars, runs, factor):
    """
    The response to roundings of the inputs that are `factor` times those of f32, over it. It is measured in f32,
    whose own roundings are far smaller, and which takes a fraction of the time.
    """

    def run(generator):
        copies, noise = [value.clone() for value in tensors], Noise(within_two, generator, factor * UNIT_ROUNDOFF)
        for value in copies:
            if value.dtype == torch.float32:
                noise.apply(value)
        return result(copies, **scalars)

    with full_f32():
        expected = [taken(at, value) for at, value in enumerate(result([value.clone() for value in tensors], **scalars))]
        return [value / factor for value in response(tensors, expected, taken, run, runs)]


def second_look(tensors, taken, scalars, runs, factor):
    """`responses` over so many runs: those of few leave some elements with a fraction of their response."""
    start = time.monotonic()
    returned, weight = weighed(tensors, scalars)
    expected = [taken(at, value) for at, value in enumerate(returned)]
    returned.clear()
    if factor > 1:
        spread = response_to_inputs(tensors, expected, taken, scalars)
        coarse = coarse_response(tensors, taken, scalars, runs, factor)
        spread = [one.maximum(other) for one, other in zip(spread, coarse)]
    else:
        # Fewer where one takes long.
        affordable = int(SECOND_LOOK_S / max(time.monotonic() - start, 1e-6))
        spread = response_to_inputs(tensors, expected, taken, scalars, max(RUNS, min(runs, affordable)))
    inside = scales(tensors, expected, taken, scalars, weight)
    return list(zip(expected, [one.mul_(weight) for one in spread], inside))


def elements(*tensors, **given):
    """
    `responses` of some elements of each result. By name come, beside scalars, `list0`, a number that names the
    tensors' values, and in `list1` and so on the row-major places of each result. For a second look there are in
    `list0`, behind that number, how many runs to take and the unit roundoff of the factors of products over that of
    f32: where the result bends within such a distance, its response is that at this distance.
    """
    lists = [value for name, value in given.items() if name.startswith("list")]
    scalars = {name: value for name, value in given.items() if not name.startswith("list")}
    (number, *look), *places = lists
    places = [torch.tensor(place, device=tensors[0].device) for place in places]

    def gathered(at, value):
        return value.reshape(-1)[places[at]].double()

    if look:
        return [part for parts in second_look(tensors, gathered, scalars, *look) for part in parts]
    parts = KEPT.pop(number, None)
    KEPT.clear()
    if parts is None:
        returned, weight = weighed(tensors, scalars)
        if 3 * sum(8 * value.numel() for value in returned) > KEPT_BYTES:
            return [part for parts in responses(tensors, returned, weight, gathered, scalars) for part in parts]
        parts = KEPT[number] = responses(tensors, returned, weight, whole, scalars)
    return [gathered(at, part) for at, of in enumerate(parts) for part in of]
