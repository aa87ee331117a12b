//! A picture file, from its header to its pixels.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use edgefirst_tensor::PixelFormat;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

/// Bytes of a file. More than any photograph has, and little enough to hold.
const MOST_FILE_BYTES: u64 = 256 << 20;
/// Pixels in a line, and lines.
const MOST_SIDE: u32 = 32_768;
/// Bytes of pixels.
const MOST_PIXEL_BYTES: u64 = 512 << 20;

/// Why a picture cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} has more than {limit} bytes", path = .path.display())]
    FileTooLarge { path: PathBuf, limit: u64 },
    #[error("{path} is empty", path = .path.display())]
    Empty { path: PathBuf },
    #[error("{path} is neither a PNG nor a JPEG", path = .path.display())]
    NotAPicture { path: PathBuf },
    #[error(
        "{path} says that it has {width} x {height} pixels; the limit is {MOST_SIDE} each way and \
         {MOST_PIXEL_BYTES} bytes in all",
        path = .path.display()
    )]
    TooManyPixels { path: PathBuf, width: u32, height: u32 },
    #[error("{path} is cut off: its end is missing", path = .path.display())]
    CutOff { path: PathBuf },
    #[error("{path} is damaged: {source}", path = .path.display())]
    Damaged { path: PathBuf, source: ImageError },
}

/// A picture whose header was read and found sane.
pub(crate) struct Picture {
    pub(crate) file_bytes: usize,
    pub(crate) kind: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
    path: PathBuf,
    decoder: Box<dyn ImageDecoder>,
}

impl Picture {
    /// Reads the file and its header. Allocates nothing by what the header says.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let bytes = read(path)?;
        let (file_bytes, format) = (bytes.len(), image::guess_format(&bytes).ok());
        let kind = match format {
            Some(ImageFormat::Png) => "PNG",
            Some(ImageFormat::Jpeg) if !jpeg_has_end(&bytes) => {
                return Err(Error::CutOff { path: path.into() });
            }
            Some(ImageFormat::Jpeg) => "JPEG",
            _ => return Err(Error::NotAPicture { path: path.into() }),
        };
        if let Some((width, height)) = png_size(&bytes) {
            check_size(path, width, height, u64::from(width) * u64::from(height))?;
        }
        let decoder = decoder(bytes).map_err(|source| damaged(path, source))?;
        let (width, height) = decoder.dimensions();
        check_size(path, width, height, decoder.total_bytes())?;
        Ok(Self { file_bytes, kind, width, height, path: path.into(), decoder })
    }

    /// What [`decode_into`](Self::decode_into) writes: the picture's own channels, eight bits each.
    /// A grey picture with opacity becomes RGBA.
    pub(crate) fn format(&self) -> PixelFormat {
        match self.decoder.color_type() {
            ColorType::L8 | ColorType::L16 => PixelFormat::Grey,
            ColorType::Rgb8 | ColorType::Rgb16 => PixelFormat::Rgb,
            _ => PixelFormat::Rgba,
        }
    }

    /// Decodes into `pixels`, which must have the size that the header says.
    pub(crate) fn decode_into(self, pixels: &mut [u8]) -> Result<(), Error> {
        let path = self.path.clone();
        self.decode(pixels).map_err(|source| damaged(&path, source))
    }

    fn decode(self, pixels: &mut [u8]) -> Result<(), ImageError> {
        match self.decoder.color_type() {
            ColorType::L8 | ColorType::Rgb8 | ColorType::Rgba8 => self.decoder.read_image(pixels)?,
            _ => pixels.copy_from_slice(&self.eight_bits()?),
        }
        Ok(())
    }

    fn eight_bits(self) -> Result<Vec<u8>, ImageError> {
        let format = self.format();
        let image = DynamicImage::from_decoder(self.decoder)?;
        Ok(match format {
            PixelFormat::Grey => image.into_luma8().into_raw(),
            PixelFormat::Rgb => image.into_rgb8().into_raw(),
            _ => image.into_rgba8().into_raw(),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| Error::Io { path: path.into(), source })?;
    match bytes.len() as u64 {
        0 => Err(Error::Empty { path: path.into() }),
        1..=MOST_FILE_BYTES => Ok(bytes),
        _ => Err(Error::FileTooLarge { path: path.into(), limit: MOST_FILE_BYTES }),
    }
}

/// What a PNG's first chunk says. Its decoder would only tell that some limit was passed.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR")?;
    let number = |at| header.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    Some((number(0)?, number(4)?))
}

fn check_size(path: &Path, width: u32, height: u32, bytes: u64) -> Result<(), Error> {
    if width.max(height) > MOST_SIDE || bytes > MOST_PIXEL_BYTES {
        return Err(Error::TooManyPixels { path: path.into(), width, height });
    }
    Ok(())
}

fn decoder(bytes: Vec<u8>) -> Result<Box<dyn ImageDecoder>, ImageError> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MOST_PIXEL_BYTES);
    reader.limits(limits);
    Ok(Box::new(reader.into_decoder()?))
}

fn damaged(path: &Path, source: ImageError) -> Error {
    Error::Damaged { path: path.into(), source }
}

/// Whether a JPEG's end marker is there. Without it the decoder paints what is missing grey and
/// reports nothing.
fn jpeg_has_end(jpeg: &[u8]) -> bool {
    const END: u8 = 0xD9;
    let mut rest = jpeg.get(2..).unwrap_or_default();
    while let Some(at) = rest.windows(2).position(is_marker) {
        let segment = &rest[at + 2..];
        if rest[at + 1] == END {
            return true;
        }
        // A segment says its length, so that an end marker inside it (of a thumbnail) is passed over.
        let length = segment.first_chunk().map(|length| u16::from_be_bytes(*length).into());
        rest = length.and_then(|length: usize| segment.get(length..)).unwrap_or_default();
    }
    false
}

/// Not a stuffed byte, a restart mark or padding, which are part of the picture's data.
fn is_marker(pair: &[u8]) -> bool {
    pair[0] == 0xFF && !matches!(pair[1], 0x00 | 0xD0..=0xD7 | 0xFF)
}
