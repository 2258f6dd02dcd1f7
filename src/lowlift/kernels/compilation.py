import numba
def kernel(signature, **o):
    def d(f): 
        k=numba.njit(cache=True, nogil=True, error_model="numpy", **o)(f); k.wanted=signature
        return k
    return d
def helper(**o):
    return numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **o)
