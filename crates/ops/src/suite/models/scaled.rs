//! Models of the same form with small, odd sizes, for correctness on every machine.

use super::arch::{
    Audio, ConvNext, Image, Mamba, Mla, MobileNet, Models, Moe, ResNet, Swin, Transformer, UNet,
    Vgg,
};

/// Extent of a scaled-down image.
const SIDE: usize = 24;

/// Classes that a scaled-down model tells apart.
const CLASSES: usize = 11;

impl Models {
    /// Returns the models scaled down.
    pub(super) fn scaled_down(mut self) -> Self {
        self.transformer.iter_mut().for_each(transformer);
        self.resnet.iter_mut().for_each(resnet);
        self.vgg.iter_mut().for_each(vgg);
        self.mobilenet.iter_mut().for_each(mobilenet);
        self.convnext.iter_mut().for_each(convnext);
        self.swin.iter_mut().for_each(swin);
        self.unet.iter_mut().for_each(unet);
        self.mamba.iter_mut().for_each(mamba);
        self
    }
}

fn transformer(model: &mut Transformer) {
    let is_wide = model.heads * model.head_dim == model.hidden;
    model.kv_heads = match model.kv_heads {
        1 => 1,
        all if all == model.heads => 4,
        _ => 2,
    };
    model.heads = 4;
    model.rope_dim = match model.rope_dim {
        0 => 0,
        all if all == model.head_dim => 10,
        _ => 4,
    };
    model.head_dim = 10;
    model.hidden = if is_wide { 40 } else { 52 };
    model.ffn = 90;
    model.layers = 1;
    model.vocab = model.vocab.map(|_| 131);
    model.moe = model.moe.map(|moe| Moe {
        experts: 7,
        per_token: moe.per_token.min(3),
        ffn: 38,
        shared_ffn: moe.shared_ffn.min(46),
    });
    if let Some(mla) = &mut model.mla {
        *mla = Mla { q_rank: mla.q_rank.min(26), kv_rank: 22, nope: 12, rope: 6, v: 10 };
        (model.head_dim, model.rope_dim) = (mla.nope + mla.rope, mla.rope);
    }
    model.image = model.image.map(|image| Image { size: 15, patch: 5, ..image });
    if let Some(audio) = &mut model.audio {
        *audio = Audio {
            channels: audio.channels.min(6),
            samples: audio.kernels.iter().product::<usize>().min(700),
            dims: audio.dims.iter().map(|_| 8).collect(),
            ..audio.clone()
        };
        if let Some(last) = audio.dims.last_mut().filter(|_| audio.bias) {
            *last = model.hidden;
        }
    }
}

fn resnet(model: &mut ResNet) {
    (model.image, model.stem, model.classes) = (SIDE + 1, 5, CLASSES);
    (model.widths, model.blocks) = (vec![5, 7], vec![2, 2]);
}

fn vgg(model: &mut Vgg) {
    (model.image, model.layers) = (SIDE, vec![5, 0, 7, 0]);
    (model.pooled, model.classifier) = (2, vec![18, CLASSES]);
}

fn mobilenet(model: &mut MobileNet) {
    (model.image, model.stem, model.last, model.classes) = (SIDE + 1, 5, 13, CLASSES);
    model.blocks = vec![[1, 5, 1, 1], [3, 7, 2, 2]];
}

fn convnext(model: &mut ConvNext) {
    (model.image, model.classes) = (SIDE, CLASSES);
    (model.widths, model.blocks) = (vec![6, 10], vec![1, 1]);
}

fn swin(model: &mut Swin) {
    (model.image, model.window, model.embed) = (SIDE, 3, 12);
    (model.depths, model.heads) = (vec![1, 1], vec![2, 4]);
}

fn unet(model: &mut UNet) {
    (model.image, model.channels, model.groups) = (6, 12, 3);
    (model.mults, model.heads) = (vec![1, 2], 2);
    (model.context_dim, model.context_len) = (14, 5);
}

fn mamba(model: &mut Mamba) {
    (model.hidden, model.inner, model.state) = (18, 34, 5);
    (model.dt_rank, model.vocab, model.layers) = (3, 131, 1);
}
