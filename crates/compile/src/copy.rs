//! kgen's own copy kernel, which a plan's `contiguous` and `expand` launch.

/// Dimensions that the copy kernel can walk; views with more have to be collapsed first.
pub const COPY_MAX_DIMS: usize = 8;

/// The names of the copy kernels, by rising element size.
pub const COPY_KERNELS: [&str; 4] = ["kg_copy_1", "kg_copy_2", "kg_copy_4", "kg_copy_8"];

/// Returns the source of the copy kernels, a file without a plan.
#[must_use]
pub const fn copy_source() -> &'static str {
    include_str!("copy.cu")
}

/// Returns the name of the copy kernel for elements of a size in bytes; `None` where there is
/// none.
///
/// Its parameters: source pointer, destination pointer, number of elements (`long long`), then
/// [`COPY_MAX_DIMS`] extents and as many strides in elements (`long long` each), the first
/// dimension outermost; unused leading dimensions have extent 1. It walks the elements with a
/// grid-stride loop over x.
#[must_use]
pub const fn copy_kernel(element_bytes: usize) -> Option<&'static str> {
    match element_bytes {
        1 => Some(COPY_KERNELS[0]),
        2 => Some(COPY_KERNELS[1]),
        4 => Some(COPY_KERNELS[2]),
        8 => Some(COPY_KERNELS[3]),
        _ => None,
    }
}
