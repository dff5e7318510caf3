// SPDX-License-Identifier: GPL-2.0

//! Wait for an order with a timeout, without a binding: bindgen has made twheel.rs from the header.

#![allow(non_camel_case_types, non_upper_case_globals, dead_code)]

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::raw::{c_int, c_ulong};
use std::os::unix::io::AsRawFd;
use std::mem::{size_of, zeroed};

mod twheel {
    include!(concat!(env!("OUT"), "/twheel.rs"));
}
use twheel::*;

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// An ioctl. The kernel checks all fields; `args` is the structure of the call.
fn call<T>(file: &File, request: u32, args: &mut T) -> Result<()> {
    // Safety: the kernel accesses as many bytes as the request has, those of the structure.
    match unsafe { ioctl(file.as_raw_fd(), request.into(), args as *mut T) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A text of up to 16 bytes as a key.
fn key(text: &str) -> twheel_key {
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    let half = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    twheel_key { v: [half(0), half(8)] }
}

fn main() -> Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open("/dev/twheel")?;
    let spec = twheel_watch_spec { key: key("order-17"), need: 0, bit: 0 };
    // Safety: all bytes may be zero.
    let mut add: twheel_add_args = unsafe { zeroed() };

    add.condition = twheel_condition_TWHEEL_COND_ANY;
    add.nr_keys = 1;
    add.keys = &spec as *const twheel_watch_spec as u64;
    add.key_size = size_of::<twheel_watch_spec>() as u32;
    add.deadline = 5_000_000_000;
    add.clock = 1; // CLOCK_MONOTONIC
    add.cookie = 17;
    call(&file, IOC_ADD, &mut add)?;

    // Usually this is another process, with a named purgatory.
    let mut signal: twheel_signal_args = unsafe { zeroed() };
    signal.key = key("order-17");
    signal.value = 7;
    call(&file, IOC_SIGNAL, &mut signal)?;

    let mut bytes = [0; size_of::<twheel_event>()];
    file.read_exact(&mut bytes)?;
    // Safety: an event is plain numbers.
    let event: twheel_event = unsafe { std::mem::transmute(bytes) };
    println!("order {}: reason {}, value {}", event.cookie, event.reason, event.value);
    assert!(event.reason == twheel_reason_TWHEEL_REASON_COMPLETED);
    assert!(event.value == 7 && event.id == add.id);
    Ok(())
}
