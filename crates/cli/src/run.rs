//! `edgefirst-tensor run`: file -> tensor -> consumer -> report.

use std::time::Duration;

use edgefirst_tensor::cuda;
use edgefirst_tensor::{Tensor, Use};

use crate::args::Run;
use crate::consumer::{self, Way};
use crate::error::Error;
use crate::picture::Picture;
use crate::report::Report;
use crate::runtime;
use crate::stages::Stages;

/// How long what the run dropped may take to be freed.
const CLEAN_UP: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Run) -> Result<Report, Error> {
    runtime::choose(&args.cuda)?;
    let report = take_through(args);
    let freed = cuda::flush(CLEAN_UP);
    let report = report?;
    freed?;
    Ok(report)
}

fn take_through(args: &Run) -> Result<Report, Error> {
    let mut stages = Stages::default();
    let picture = stages.time("read", || Picture::open(&args.picture))?;
    let (file_bytes, kind, format) = (picture.file_bytes, picture.kind, picture.format());

    let mut tensor = stages.time("build", || {
        Tensor::<u8>::image(picture.width as usize, picture.height as usize, format)
            .serves(&[Use::Host, Use::Cuda])
            .build()
    })?;
    stages.time("decode", || picture.decode_into(tensor.map_mut()?.as_mut_slice()).map_err(Error::from))?;
    let seen = consumer::consume(&tensor, &mut stages)?;
    let status = cuda::cuda_status();
    match seen.way {
        Way::Host { why } if args.cuda.is_demanded() => Err(Error::NoCuda { why, status: status.into() }),
        way => Ok(Report {
            picture: args.picture.clone(),
            file_bytes,
            kind,
            format,
            shape: tensor.shape().into(),
            row_pitch: tensor.row_pitch(),
            bytes: tensor.bytes(),
            way,
            digest: seen.digest,
            copied: seen.copied,
            status,
            stages,
        }),
    }
}
