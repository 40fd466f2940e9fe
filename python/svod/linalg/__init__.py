"""Linear algebra: the extension `linalg` of the array API standard, and the functions of NumPy and PyTorch beside it.

Functions take stacks of matrices, the last two dimensions, of real and complex numbers. Factors are computed by
functions of the host in a plan, a matrix at a time, over svod's own threads. They have derivatives, by PyTorch's
convention where numbers are complex, may be traced by `svod.jit` and mapped by `svod.vmap`.

A matrix that has no such factors, such as a singular one that is to be inverted, is an `ExecutionError` where the value
is computed.

>>> import svod
>>> svod.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).tolist()
[1.0, 0.5]
"""

from svod import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from svod._svod import _LinAlgError as LinAlgError
from svod.linalg._checked import (
    CholeskyExResult,
    InvExResult,
    LUFactorExResult,
    SolveExResult,
    cholesky_ex,
    inv_ex,
    lu_factor_ex,
    solve_ex,
)
from svod.linalg._determinants import SlogdetResult, det, slogdet
from svod.linalg._factors import (
    EighResult,
    EigResult,
    LUResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    qr,
    svd,
    svdvals,
)
from svod.linalg._least_squares import LstsqResult, lstsq, matrix_rank, pinv
from svod.linalg._norms import cond, matrix_norm, norm, vector_norm
from svod.linalg._packed import householder_product, lu_factor, lu_solve, tensorinv, tensorsolve, vander
from svod.linalg._products import diagonal, expm, matrix_power, multi_dot, trace
from svod.linalg._solve import inv, solve, solve_triangular

matrix_exp = expm

__all__ = [
    "CholeskyExResult",
    "EigResult",
    "EighResult",
    "InvExResult",
    "LUFactorExResult",
    "LUResult",
    "LinAlgError",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "SolveExResult",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]
