//! What the files under `suites/models` say; the keys are explained there.

use serde::Deserialize;

use crate::log::Call;

use super::{Calls, Work, convnets, image, transformer, unet};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Models {
    #[serde(rename = "format")]
    _format: Format,
    #[serde(rename = "sources_checked_on")]
    _sources_checked_on: String,
    #[serde(default)]
    pub(super) transformer: Vec<Transformer>,
    #[serde(default)]
    pub(super) resnet: Vec<ResNet>,
    #[serde(default)]
    pub(super) vgg: Vec<Vgg>,
    #[serde(default)]
    pub(super) mobilenet: Vec<MobileNet>,
    #[serde(default)]
    pub(super) convnext: Vec<ConvNext>,
    #[serde(default)]
    pub(super) swin: Vec<Swin>,
    #[serde(default)]
    pub(super) unet: Vec<UNet>,
    #[serde(default)]
    pub(super) mamba: Vec<Mamba>,
}

/// The version of the files.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
struct Format;

impl TryFrom<u32> for Format {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, Self::Error> {
        if version == 1 { Ok(Self) } else { Err(format!("format {version} is not supported")) }
    }
}

/// Where a model's numbers come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Origin {
    /// The model.
    pub name: String,
    /// The configuration files: repository, path and commit.
    pub source: String,
    /// What the files leave open and a number implies; empty where there is nothing to say.
    #[serde(default)]
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    Decoder,
    Encoder,
    EncoderDecoder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Norm {
    LayerNorm,
    RmsNorm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Act {
    Silu,
    Gelu,
    GeluTanh,
    QuickGelu,
    Relu,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Transformer {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) role: Role,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    pub(super) ffn: usize,
    pub(super) vocab: Option<usize>,
    pub(super) max_seq: Option<usize>,
    pub(super) norm: Norm,
    pub(super) eps: f64,
    pub(super) act: Act,
    pub(super) gated: bool,
    #[serde(default)]
    pub(super) bias: bool,
    pub(super) rope_dim: usize,
    #[serde(default)]
    pub(super) qk_norm: bool,
    pub(super) moe: Option<Moe>,
    pub(super) mla: Option<Mla>,
    pub(super) image: Option<Image>,
    pub(super) audio: Option<Audio>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Moe {
    pub(super) experts: usize,
    pub(super) per_token: usize,
    pub(super) ffn: usize,
    pub(super) shared_ffn: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mla {
    pub(super) q_rank: usize,
    pub(super) kv_rank: usize,
    pub(super) nope: usize,
    pub(super) rope: usize,
    pub(super) v: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    pub(super) size: usize,
    pub(super) patch: usize,
    pub(super) channels: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Audio {
    pub(super) channels: usize,
    pub(super) samples: usize,
    pub(super) dims: Vec<usize>,
    pub(super) kernels: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) paddings: Vec<usize>,
    pub(super) bias: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResNet {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) stem: usize,
    pub(super) widths: Vec<usize>,
    pub(super) blocks: Vec<u64>,
    pub(super) expansion: usize,
    pub(super) classes: usize,
    pub(super) eps: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Vgg {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) layers: Vec<usize>,
    pub(super) pooled: usize,
    pub(super) classifier: Vec<usize>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct MobileNet {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) stem: usize,
    pub(super) last: usize,
    pub(super) classes: usize,
    /// Expansion, channels, repeats, stride.
    pub(super) blocks: Vec<[usize; 4]>,
    pub(super) eps: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ConvNext {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) patch: usize,
    pub(super) widths: Vec<usize>,
    pub(super) blocks: Vec<u64>,
    pub(super) kernel: usize,
    pub(super) expansion: usize,
    pub(super) classes: usize,
    pub(super) eps: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Swin {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) patch: usize,
    pub(super) channels: usize,
    pub(super) embed: usize,
    pub(super) depths: Vec<u64>,
    pub(super) heads: Vec<usize>,
    pub(super) window: usize,
    pub(super) mlp_ratio: usize,
    pub(super) eps: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct UNet {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) image: usize,
    pub(super) in_channels: usize,
    pub(super) channels: usize,
    pub(super) mults: Vec<usize>,
    pub(super) res_blocks: usize,
    pub(super) attention_at: Vec<usize>,
    pub(super) heads: usize,
    pub(super) context_dim: usize,
    pub(super) context_len: usize,
    pub(super) groups: usize,
    pub(super) eps: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Mamba {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) hidden: usize,
    pub(super) layers: u64,
    pub(super) inner: usize,
    pub(super) state: usize,
    pub(super) conv_kernel: usize,
    pub(super) dt_rank: usize,
    pub(super) vocab: usize,
    pub(super) eps: f64,
}

impl Models {
    /// Returns where every model comes from.
    pub(super) fn origins(&self) -> Vec<&Origin> {
        let mut origins: Vec<&Origin> = Vec::new();
        origins.extend(self.transformer.iter().map(|model| &model.origin));
        origins.extend(self.resnet.iter().map(|model| &model.origin));
        origins.extend(self.vgg.iter().map(|model| &model.origin));
        origins.extend(self.mobilenet.iter().map(|model| &model.origin));
        origins.extend(self.convnext.iter().map(|model| &model.origin));
        origins.extend(self.swin.iter().map(|model| &model.origin));
        origins.extend(self.unet.iter().map(|model| &model.origin));
        origins.extend(self.mamba.iter().map(|model| &model.origin));
        origins
    }

    /// Returns the names of the models with the calls of their forward passes.
    pub(super) fn passes(&self, work: &Work) -> Vec<(String, Vec<Call>)> {
        let mut passes = Vec::new();
        let mut pass = |origin: &Origin, run: &dyn Fn(&mut Calls)| {
            let mut calls = Calls::new(work.dtype);
            run(&mut calls);
            passes.push((origin.name.clone(), calls.into_calls()));
        };
        for model in &self.transformer {
            pass(&model.origin, &|calls| transformer::forward(calls, model, work));
        }
        for model in &self.resnet {
            pass(&model.origin, &|calls| convnets::resnet(calls, model, work.images));
        }
        for model in &self.vgg {
            pass(&model.origin, &|calls| convnets::vgg(calls, model, work.images));
        }
        for model in &self.mobilenet {
            pass(&model.origin, &|calls| convnets::mobilenet(calls, model, work.images));
        }
        for model in &self.convnext {
            pass(&model.origin, &|calls| image::convnext(calls, model, work.images));
        }
        for model in &self.swin {
            pass(&model.origin, &|calls| image::swin(calls, model, work.images));
        }
        for model in &self.unet {
            pass(&model.origin, &|calls| unet::unet(calls, model, work.images.div_ceil(4)));
        }
        for model in &self.mamba {
            pass(&model.origin, &|calls| transformer::mamba(calls, model, work));
        }
        passes
    }
}
