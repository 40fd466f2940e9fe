"""Examples for the reference of what has none in its docstring: a line each, run when the site is built.

A line begins with the name. What is before a semicolon comes first; the value of the last expression is shown.
"""

# ruff: noqa: E501

from __future__ import annotations

SVOD = """
abs svod.abs(svod.Tensor([-1.5, 2.0])).tolist()
absolute svod.absolute(svod.Tensor([-1.5, 2.0])).tolist()
adaptive_avg_pool1d svod.adaptive_avg_pool1d(svod.arange(6.0).reshape(1, 1, 6), 2).tolist()
add svod.add(svod.Tensor([1.0, 2.0]), 0.5).tolist()
all svod.all(svod.Tensor([[True, False], [True, True]]), axis=1).tolist()
alpha_dropout svod.alpha_dropout(svod.ones(3), p=0.5, training=False).tolist()
amax svod.amax(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0).tolist()
amin svod.amin(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0).tolist()
angle svod.angle(svod.Tensor([1j, -1.0])).tolist()
any svod.any(svod.Tensor([[True, False], [False, False]]), axis=1).tolist()
arange svod.arange(2, 10, 3).tolist()
arctan svod.arctan(svod.Tensor([0.0, 1.0])).tolist()
argmax svod.argmax(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1).tolist()
argmin svod.argmin(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1).tolist()
argsort svod.argsort(svod.Tensor([3.0, 1.0, 2.0])).tolist()
atan svod.atan(svod.Tensor([0.0, 1.0])).tolist()
avg_pool1d svod.avg_pool1d(svod.arange(6.0).reshape(1, 1, 6), 2).tolist()
bilinear svod.bilinear(svod.ones(1, 2), svod.ones(1, 3), svod.ones(1, 2, 3)).tolist()
binary_cross_entropy_with_logits svod.binary_cross_entropy_with_logits(svod.zeros(2), svod.ones(2)).item()
bitwise_and svod.bitwise_and(svod.Tensor([6, 5]), 3).tolist()
bitwise_invert svod.bitwise_invert(svod.Tensor([0, 5])).tolist()
bitwise_left_shift svod.bitwise_left_shift(svod.Tensor([1, 5]), 2).tolist()
bitwise_not svod.bitwise_not(svod.Tensor([0, 5])).tolist()
bitwise_or svod.bitwise_or(svod.Tensor([6, 5]), 3).tolist()
bitwise_right_shift svod.bitwise_right_shift(svod.Tensor([8, -5]), 1).tolist()
bitwise_xor svod.bitwise_xor(svod.Tensor([6, 5]), 3).tolist()
broadcast_to svod.broadcast_to(svod.Tensor([1, 2]), (2, 2)).tolist()
caches sorted(svod.caches())
cat svod.cat([svod.Tensor([1, 2]), svod.Tensor([3])]).tolist()
ceil svod.ceil(svod.Tensor([1.2, -1.2])).tolist()
celu svod.celu(svod.Tensor([-1.0, 2.0])).tolist()
chunk [part.tolist() for part in svod.chunk(svod.arange(5), 2)]
clamp svod.clamp(svod.Tensor([-1.0, 0.5, 2.0]), 0, 1).tolist()
clear_caches svod.clear_caches(); svod.caches()["kernels"]
clip svod.clip(svod.Tensor([-1.0, 0.5, 2.0]), 0, 1).tolist()
clone svod.clone(svod.Tensor([1.0, 2.0])).tolist()
complex svod.complex(svod.Tensor([1.0]), svod.Tensor([2.0])).tolist()
conj svod.conj(svod.Tensor([1 + 2j])).tolist()
contiguous svod.contiguous(svod.arange(4).reshape(2, 2).T).tolist()
contiguous_backward svod.contiguous_backward(svod.ones(2)).tolist()
conv1d svod.conv1d(svod.arange(5.0).reshape(1, 1, 5), svod.ones(1, 1, 3)).tolist()
conv2d svod.conv2d(svod.ones(1, 1, 3, 3), svod.ones(1, 1, 2, 2)).tolist()
conv3d svod.conv3d(svod.ones(1, 1, 2, 2, 2), svod.ones(1, 1, 2, 2, 2)).item()
conv_transpose1d svod.conv_transpose1d(svod.ones(1, 1, 2), svod.ones(1, 1, 3)).tolist()
conv_transpose2d svod.conv_transpose2d(svod.ones(1, 1, 1, 1), svod.ones(1, 1, 2, 2)).tolist()
conv_transpose3d svod.conv_transpose3d(svod.ones(1, 1, 1, 1, 1), svod.ones(1, 1, 2, 2, 2)).shape
cos svod.cos(svod.Tensor([0.0, 3.1415927])).tolist()
cosine_embedding_loss svod.cosine_embedding_loss(svod.ones(1, 2), svod.ones(1, 2), svod.Tensor([-1])).item()
cosine_similarity svod.cosine_similarity(svod.Tensor([[1.0, 0.0]]), svod.Tensor([[0.0, 2.0]])).tolist()
ctc_loss svod.ctc_loss(svod.zeros(4, 1, 3).log_softmax(-1), svod.Tensor([[1, 2]]), svod.Tensor([4]), svod.Tensor([2])).item()
cummax svod.cummax(svod.Tensor([1.0, 3.0, 2.0]), axis=0).tolist()
cummin svod.cummin(svod.Tensor([3.0, 1.0, 2.0]), axis=0).tolist()
cumprod svod.cumprod(svod.Tensor([1.0, 2.0, 3.0]), axis=0).tolist()
cumsum svod.cumsum(svod.Tensor([1.0, 2.0, 3.0]), axis=0).tolist()
detach svod.detach(svod.ones(1).requires_grad_() * 2).requires_grad
div svod.div(svod.Tensor([1, 3]), 2).tolist()
dot svod.dot(svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])).item()
dropout svod.dropout(svod.ones(3), p=0.5, training=False).tolist()
empty_like svod.empty_like(svod.ones(2, 3)).shape
enable_grad w = svod.ones(1).requires_grad_(); svod.enable_grad()(lambda: (w * 2).requires_grad)()
eq svod.eq(svod.Tensor([1, 2]), 2).tolist()
equal svod.equal(svod.Tensor([1, 2]), 2).tolist()
erf svod.erf(svod.Tensor([0.0, 1.0])).tolist()
exp svod.exp(svod.Tensor([0.0, 1.0])).tolist()
exp2 svod.exp2(svod.Tensor([0.0, 3.0])).tolist()
expm1 svod.expm1(svod.Tensor([0.0, 1e-6])).tolist()
eye svod.eye(2).tolist()
flatten svod.flatten(svod.zeros(2, 3, 4), 1).shape
flip svod.flip(svod.Tensor([1, 2, 3])).tolist()
floor svod.floor(svod.Tensor([1.8, -1.2])).tolist()
floor_divide svod.floor_divide(svod.Tensor([7, -7]), 2).tolist()
from_numpy import numpy as np; svod.from_numpy(np.arange(3)).tolist()
full svod.full((2, 2), 7).tolist()
full_like svod.full_like(svod.zeros(2), 7).tolist()
gather svod.gather(svod.Tensor([[1, 2], [3, 4]]), 1, svod.Tensor([[0], [1]])).tolist()
ge svod.ge(svod.Tensor([1, 2]), 2).tolist()
get_threads svod.get_threads() > 0
greater svod.greater(svod.Tensor([1, 3]), 2).tolist()
greater_equal svod.greater_equal(svod.Tensor([1, 2]), 2).tolist()
group_norm svod.group_norm(svod.arange(4.0).reshape(1, 4), 2).shape
gt svod.gt(svod.Tensor([1, 3]), 2).tolist()
hardshrink svod.hardshrink(svod.Tensor([0.2, 1.0])).tolist()
hinge_embedding_loss svod.hinge_embedding_loss(svod.Tensor([0.5]), svod.Tensor([-1])).item()
imag svod.imag(svod.Tensor([1 + 2j])).tolist()
index_add svod.index_add(svod.zeros(3), 0, svod.Tensor([1, 1]), svod.ones(2)).tolist()
index_copy svod.index_copy(svod.zeros(3), 0, svod.Tensor([2]), svod.ones(1)).tolist()
index_select svod.index_select(svod.Tensor([[1, 2], [3, 4]]), 0, svod.Tensor([1])).tolist()
is_complex svod.is_complex(svod.Tensor([1j]))
is_grad_enabled svod.is_grad_enabled()
isfinite svod.isfinite(svod.Tensor([1.0, float("inf")])).tolist()
isinf svod.isinf(svod.Tensor([1.0, float("inf")])).tolist()
isnan svod.isnan(svod.Tensor([1.0, float("nan")])).tolist()
kl_div svod.kl_div(svod.Tensor([0.5, 0.5]).log(), svod.Tensor([0.5, 0.5]), reduction="sum").item()
kthvalue svod.kthvalue(svod.Tensor([3.0, 1.0, 2.0]), 2).values.item()
layer_norm svod.layer_norm(svod.Tensor([[1.0, 3.0]]), (2,)).tolist()
le svod.le(svod.Tensor([1, 3]), 2).tolist()
lerp svod.lerp(svod.Tensor([0.0]), svod.Tensor([10.0]), 0.3).tolist()
less svod.less(svod.Tensor([1, 3]), 2).tolist()
less_equal svod.less_equal(svod.Tensor([1, 3]), 2).tolist()
linspace svod.linspace(0, 1, 5).tolist()
load_safetensors import tempfile; path = tempfile.mkdtemp() + "/x.safetensors"; svod.save_safetensors({"x": svod.ones(2)}, path); svod.load_safetensors(path)["x"].tolist()
log svod.log(svod.Tensor([1.0, 0.0])).tolist()
log10 svod.log10(svod.Tensor([1000.0])).tolist()
log1p svod.log1p(svod.Tensor([0.0, 1e-6])).tolist()
log2 svod.log2(svod.Tensor([8.0])).tolist()
log_softmax svod.log_softmax(svod.zeros(2), -1).tolist()
logical_and svod.logical_and(svod.Tensor([True, True]), svod.Tensor([True, False])).tolist()
logical_not svod.logical_not(svod.Tensor([True, False])).tolist()
logical_or svod.logical_or(svod.Tensor([False, True]), svod.Tensor([False, False])).tolist()
logical_xor svod.logical_xor(svod.Tensor([True, True]), svod.Tensor([True, False])).tolist()
logsumexp svod.logsumexp(svod.zeros(2)).item()
lt svod.lt(svod.Tensor([1, 3]), 2).tolist()
manual_seed _ = svod.manual_seed(0); svod.rand(2).shape
margin_ranking_loss svod.margin_ranking_loss(svod.zeros(1), svod.ones(1), svod.ones(1)).item()
masked_fill svod.masked_fill(svod.Tensor([1, 2]), svod.Tensor([True, False]), 0).tolist()
masked_select svod.masked_select(svod.Tensor([1, 2, 3]), svod.Tensor([True, False, True])).tolist()
matmul svod.matmul(svod.Tensor([[1.0, 2.0]]), svod.Tensor([[3.0], [4.0]])).tolist()
matrix_transpose svod.matrix_transpose(svod.zeros(5, 2, 3)).shape
max svod.max(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1).tolist()
max_pool1d svod.max_pool1d(svod.arange(6.0).reshape(1, 1, 6), 2).tolist()
max_pool2d svod.max_pool2d(svod.arange(4.0).reshape(1, 1, 2, 2), 2).tolist()
max_pool3d svod.max_pool3d(svod.arange(8.0).reshape(1, 1, 2, 2, 2), 2).item()
maximum svod.maximum(svod.Tensor([1, 5]), 3).tolist()
mean svod.mean(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1).tolist()
median svod.median(svod.Tensor([3.0, 1.0, 2.0])).item()
min svod.min(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=1).tolist()
minimum svod.minimum(svod.Tensor([1, 5]), 3).tolist()
mul svod.mul(svod.Tensor([1.0, 2.0]), 3).tolist()
multiply svod.multiply(svod.Tensor([1.0, 2.0]), 3).tolist()
narrow svod.narrow(svod.arange(5), 0, 1, 3).tolist()
ne svod.ne(svod.Tensor([1, 2]), 2).tolist()
neg svod.neg(svod.Tensor([1.0, -2.0])).tolist()
negative svod.negative(svod.Tensor([1.0, -2.0])).tolist()
nonzero [found.tolist() for found in svod.nonzero(svod.Tensor([0, 5, 6]))]
norm svod.norm(svod.Tensor([3.0, 4.0])).item()
not_equal svod.not_equal(svod.Tensor([1, 2]), 2).tolist()
numel svod.numel(svod.zeros(2, 3))
ones svod.ones(2, 2).tolist()
ones_like svod.ones_like(svod.zeros(2)).tolist()
outer svod.outer(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
pairwise_distance svod.pairwise_distance(svod.Tensor([[0.0, 3.0]]), svod.Tensor([[4.0, 0.0]])).shape
permute svod.permute(svod.zeros(2, 3, 4), (2, 0, 1)).shape
permute_dims svod.permute_dims(svod.zeros(2, 3, 4), (2, 0, 1)).shape
pixel_shuffle svod.pixel_shuffle(svod.zeros(1, 4, 2, 2), 2).shape
pixel_unshuffle svod.pixel_unshuffle(svod.zeros(1, 1, 4, 4), 2).shape
poisson_nll_loss svod.poisson_nll_loss(svod.zeros(2), svod.ones(2)).item()
positive svod.positive(svod.Tensor([-1, 2])).tolist()
pow svod.pow(svod.Tensor([2.0, 3.0]), 2).tolist()
prelu svod.prelu(svod.Tensor([-2.0, 2.0]), svod.Tensor([0.25])).tolist()
prepare x = svod.empty(2); plan = svod.prepare(x + 1, x * 2, inputs=[x]); plan.execute([1.0, 2.0]); [out.tolist() for out in plan.outputs]
prod svod.prod(svod.Tensor([2.0, 3.0])).item()
rand svod.rand(2, 3).shape
rand_like svod.rand_like(svod.zeros(2, 3)).shape
randint svod.randint(0, 10, (2, 3)).shape
randint_like svod.randint_like(svod.zeros(2, 3), 10).shape
randn svod.randn(2, 3).shape
randn_like svod.randn_like(svod.zeros(2, 3)).shape
real svod.real(svod.Tensor([1 + 2j])).tolist()
realize x = svod.ones(2) + 1; svod.realize(x); x.is_realized
reciprocal svod.reciprocal(svod.Tensor([2.0, 4.0])).tolist()
relu svod.relu(svod.Tensor([-1.0, 2.0])).tolist()
remainder svod.remainder(svod.Tensor([7, -7]), 3).tolist()
repeat_interleave svod.repeat_interleave(svod.Tensor([1, 2]), 2).tolist()
reshape svod.reshape(svod.arange(4), (2, 2)).tolist()
rms_norm svod.rms_norm(svod.Tensor([[3.0, 4.0]]), (2,), eps=0.0).shape
round svod.round(svod.Tensor([0.5, 1.5, 2.4])).tolist()
rsqrt svod.rsqrt(svod.Tensor([4.0])).tolist()
scatter svod.scatter(svod.zeros(3), 0, svod.Tensor([2]), svod.ones(1)).tolist()
scatter_add svod.scatter_add(svod.zeros(3), 0, svod.Tensor([1, 1]), svod.ones(2)).tolist()
scatter_reduce svod.scatter_reduce(svod.ones(2), 0, svod.Tensor([0, 0]), svod.Tensor([3.0, 2.0]), "prod").tolist()
selu svod.selu(svod.Tensor([0.0, 1.0])).tolist()
set_grad_enabled w = svod.ones(1).requires_grad_(); svod.set_grad_enabled(True)(lambda: (w * 2).requires_grad)()
set_rng_state state = svod.get_rng_state(); first = svod.rand(2).tolist(); svod.set_rng_state(state); svod.rand(2).tolist() == first
set_threads threads = svod.get_threads(); svod.set_threads(threads); svod.get_threads() == threads
sigmoid svod.sigmoid(svod.Tensor([0.0])).tolist()
sign svod.sign(svod.Tensor([-2.0, 0.0, 3.0])).tolist()
silu svod.silu(svod.Tensor([0.0, 1.0])).tolist()
sin svod.sin(svod.Tensor([0.0, 1.0])).tolist()
softmax svod.softmax(svod.zeros(2), -1).tolist()
softplus svod.softplus(svod.Tensor([0.0])).tolist()
sort svod.sort(svod.Tensor([3.0, 1.0, 2.0])).tolist()
split [part.tolist() for part in svod.split(svod.arange(5), 2)]
sqrt svod.sqrt(svod.Tensor([4.0, 9.0])).tolist()
square svod.square(svod.Tensor([-3.0])).tolist()
squeeze svod.squeeze(svod.zeros(1, 2, 1), 0).shape
stack svod.stack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
std svod.std(svod.Tensor([1.0, 3.0])).item()
stop_gradient svod.grad(lambda x: (svod.stop_gradient(x) * x).sum())(svod.Tensor([3.0])).tolist()
sub svod.sub(svod.Tensor([1.0, 2.0]), 0.5).tolist()
subtract svod.subtract(svod.Tensor([1.0, 2.0]), 0.5).tolist()
sum svod.sum(svod.Tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0).tolist()
swapaxes svod.swapaxes(svod.zeros(2, 3, 4), 0, 2).shape
t svod.t(svod.zeros(2, 3)).shape
take svod.take(svod.Tensor([10, 20, 30]), svod.Tensor([2, 0])).tolist()
take_along_axis svod.take_along_axis(svod.Tensor([[3, 1]]), svod.Tensor([[1, 0]]), axis=1).tolist()
take_along_dim svod.take_along_dim(svod.Tensor([[3, 1]]), svod.Tensor([[1, 0]]), 1).tolist()
tan svod.tan(svod.Tensor([0.0, 1.0])).tolist()
tanh svod.tanh(svod.Tensor([0.0, 1.0])).tolist()
threshold svod.threshold(svod.Tensor([0.5, 2.0]), 1.0, 0.0).tolist()
topk svod.topk(svod.Tensor([3.0, 1.0, 2.0]), 2).values.tolist()
transpose svod.transpose(svod.zeros(2, 3), 0, 1).shape
tril svod.tril(svod.ones(2, 2)).tolist()
triplet_margin_loss svod.triplet_margin_loss(svod.zeros(1, 2), svod.zeros(1, 2), svod.ones(1, 2) * 10).item()
triu svod.triu(svod.ones(2, 2)).tolist()
trunc svod.trunc(svod.Tensor([1.8, -1.8])).tolist()
unflatten svod.unflatten(svod.zeros(6, 2), 0, (2, 3)).shape
unsqueeze svod.unsqueeze(svod.zeros(2), 0).shape
var svod.var(svod.Tensor([1.0, 3.0])).item()
where svod.where(svod.Tensor([True, False]), 1, 2).tolist()
zeros svod.zeros(2, 2).tolist()
zeros_like svod.zeros_like(svod.ones(2)).tolist()
"""

LINALG = """
cond svod.linalg.cond(svod.Tensor([[1.0, 0.0], [0.0, 4.0]])).item()
eig svod.linalg.eig(svod.Tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.abs().tolist()
eigh svod.linalg.eigh(svod.Tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
eigvals svod.linalg.eigvals(svod.Tensor([[2.0, 0.0], [0.0, 1.0]])).shape
eigvalsh svod.linalg.eigvalsh(svod.Tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
lu [part.shape for part in svod.linalg.lu(svod.Tensor([[0.0, 1.0], [2.0, 3.0]]))]
matmul svod.linalg.matmul(svod.ones(2, 3), svod.ones(3, 1)).tolist()
matrix_power svod.linalg.matrix_power(svod.Tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
matrix_rank svod.linalg.matrix_rank(svod.ones(2, 2)).item()
matrix_transpose svod.linalg.matrix_transpose(svod.zeros(2, 3)).shape
multi_dot svod.linalg.multi_dot([svod.ones(1, 2), svod.ones(2, 3), svod.ones(3, 1)]).tolist()
norm svod.linalg.norm(svod.Tensor([3.0, 4.0])).item()
outer svod.linalg.outer(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
qr q, r = svod.linalg.qr(svod.Tensor([[3.0, 0.0], [0.0, 4.0]])); (q @ r).tolist()
slogdet [part.item() for part in svod.linalg.slogdet(svod.Tensor([[-1.0]]))]
solve_triangular svod.linalg.solve_triangular(svod.Tensor([[2.0, 0.0], [1.0, 1.0]]), svod.Tensor([2.0, 3.0]), upper=False).tolist()
svd svod.linalg.svd(svod.Tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
svdvals svod.linalg.svdvals(svod.Tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
"""

FFT = """
fft2 svod.fft.fft2(svod.ones(2, 2)).real.tolist()
fftn svod.fft.fftn(svod.ones(2, 2)).real.tolist()
hfft svod.fft.hfft(svod.Tensor([1.0, 0.0, 0.0])).tolist()
ifft svod.fft.ifft(svod.Tensor([4.0, 0.0, 0.0, 0.0])).real.tolist()
ifft2 svod.fft.ifft2(svod.Tensor([[4.0, 0.0], [0.0, 0.0]])).real.tolist()
ifftn svod.fft.ifftn(svod.Tensor([[4.0, 0.0], [0.0, 0.0]])).real.tolist()
ifftshift svod.fft.ifftshift(svod.arange(4)).tolist()
ihfft svod.fft.ihfft(svod.ones(4)).real.tolist()
irfft svod.fft.irfft(svod.Tensor([4.0, 0.0, 0.0])).tolist()
irfft2 svod.fft.irfft2(svod.ones(2, 2)).tolist()
irfftn svod.fft.irfftn(svod.ones(2, 2)).tolist()
rfft svod.fft.rfft(svod.ones(4)).real.tolist()
rfft2 svod.fft.rfft2(svod.ones(2, 2)).real.tolist()
rfftn svod.fft.rfftn(svod.ones(2, 2)).real.tolist()
"""

# Lines by the namespace of their names.
EXAMPLES = {"svod": SVOD, "svod.linalg": LINALG, "svod.fft": FFT}


def by_name() -> dict[str, list[str]]:
    """The statements of each name's example, by its path."""
    found = {}
    for space, text in EXAMPLES.items():
        for line in text.strip().splitlines():
            name, _, code = line.partition(" ")
            found[f"{space}.{name}"] = code.split("; ")
    return found


def session(statements: list[str]) -> str:
    """The statements as at the prompt, and what the last one gives."""
    scope: dict[str, object] = {}
    exec("import svod", scope)
    for statement in statements[:-1]:
        exec(statement, scope)
    value = eval(statements[-1], scope)
    return "\n".join([*(f">>> {statement}" for statement in statements), repr(value)])
