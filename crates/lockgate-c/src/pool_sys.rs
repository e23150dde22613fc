//! Section "Pools" of the header.
use crate::call::{freed, made, value};
use crate::domain_sys::DomainObject;
use crate::handle::{Handle, Handled};
use crate::module_sys::ModuleObject;
use crate::options_sys::OptionsObject;
use lockgate::Pool;
use std::sync::Arc;

/// What `lg_pool` stands for.
pub struct PoolObject(Arc<Pool>);

impl Handled for PoolObject {
    const WHAT: &'static str = "a pool";
}

/// An empty pool.
#[unsafe(no_mangle)]
pub extern "C" fn lg_pool_new(
    module: Handle<ModuleObject>,
    options: Handle<OptionsObject>,
    capacity: usize,
) -> Handle<PoolObject> {
    made(|| Ok(PoolObject(Arc::new(Pool::new(&module.get()?.module, options.options()?, capacity)))))
}

/// A pristine domain.
pub extern "C" fn lg_pool_take(pool: Handle<PoolObject>) -> Handle<DomainObject> {
    made(|| Ok(DomainObject::leased(pool.get()?.0.take_shared()?)))
}

/// How many are ready.
#[unsafe(no_mangle)]
pub extern "C" fn lg_pool_ready(pool: Handle<PoolObject>) -> usize {
    value(0, || Ok(pool.get()?.0.ready()))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_pool_free(pool: Handle<PoolObject>) -> i32 {
    freed(pool)
}
