mod numbers;
mod sample;
mod text;
