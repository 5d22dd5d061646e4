package simai

import (
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Limits; a value past them is a mistake rather than a workload.
const (
	maxLayers = 1 << 18
	maxPasses = 1 << 20
	maxBytes  = 1_000_000_000_000_000_000 // of the sizes of a pass together
	maxTime   = 1_000_000 * units.Second  // computed in all passes
	maxParts  = 1 << 16                   // pipeline messages of a pass
)

// Options of Read and ReadCSV. The zero value reads a file as it is.
type Options struct {
	// Ranks is the number of ranks, which some files do not say; 0: what the file says. A
	// file that says another is refused.
	Ranks int
	// Passes is how often the file is played; 0: once.
	Passes int
	// TimeUnit is the unit of compute times, which the files do not say; 0: nanoseconds, as
	// SimAI takes them. Files that other tools wrote may be in microseconds.
	TimeUnit units.Duration
	collective.Choices
}

// policies are the first words of a file, with what waits for what.
var policies = map[string]policy{
	"HYBRID_TRANSFORMER":              {order: layerwise, fwd: TP, wg: DP, has: 7, header: true},
	"HYBRID_TRANSFORMER_FWD_IN_BCKWD": {order: layerwise, fwd: TP, wg: DP, has: 7, header: true},
	"HYBRID_DATA_MODEL":               {order: layerwise, fwd: TP, wg: DP, has: 7, header: true},
	"HYBRID_MODEL_DATA":               {order: layerwise, fwd: TP, wg: DP, has: 7, header: true},
	"MODEL":                           {order: layerwise, fwd: World, wg: World, has: 3},
	"DATA":                            {order: dataParallel, fwd: World, wg: World, has: 4},
	"HYBRID_DLRM":                     {order: dlrm, fwd: World, wg: World, has: 7, embeddings: true},
	"HYBRID_DLRM_ENHANCED":            {order: dlrm, fwd: World, wg: World, has: 7, embeddings: true, enhanced: true},
	"DISTRIBUTED_INFERENCE":           {order: inference, fwd: World, wg: World, has: 1},
	"MICRO":                           {order: micro, fwd: World, wg: World, has: 4},
}

// policy is how the layers of a file are played.
type policy struct {
	order      func(r *reader)
	fwd, wg    GroupKind // of collectives without suffix: forward and input gradient, weight gradient
	has        uint8     // which collectives are run: 1 forward, 2 input gradient, 4 weight gradient
	header     bool      // the header says the parallelism
	embeddings bool      // of DLRM: forward, and of the input gradient of layer 0, only all-to-alls are run
	enhanced   bool      // of DLRM: the input gradient of the embeddings is not waited for
}

// Policies returns the words that a text file may begin with.
func Policies() []string {
	return slices.Sorted(maps.Keys(policies))
}

// Looks reports whether a file that begins with start looks like a workload in text.
func Looks(start string) bool {
	first, _, _ := strings.Cut(start, "\n")
	words := strings.Fields(first)
	if len(words) == 0 {
		return false
	}
	_, ok := policies[words[0]]
	return ok
}

// part is the forward pass, the input gradient or the weight gradient of a layer.
type part struct {
	compute units.Duration
	comm    Item // Do is Collective, or Bytes is 0
}

// layer is a line of the file.
type layer struct {
	name        string
	fwd, ig, wg part
	update      units.Duration
	from        int  // the checkpoint at or before it, or graph.None
	recomputing bool // forward from there before the input gradient
}

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	options Options
	unit    units.Duration
	loss    *graph.Loss
	labels  *labels

	policy   policy
	name     lines.Word          // of the policy
	header   map[string]number   // by key
	marked   map[string][]number // layers that checkpoints and checkpoint_initiates name
	stages   int
	parts    int // pipeline messages of a pass
	ppBytes  units.Size
	layers   []layer
	items    []Item
	bytes    int64
	time     units.Duration
	lastSlot int32
}

// number is a value of the header.
type number struct {
	word  lines.Word
	value int64
}

// Read reads a workload in text. name stands for the file in errors, which are *Error. It
// may have these lines:
//
//	HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 64
//	<number of layers>
//	<name> <dependency> <forward> <input gradient> <weight gradient> <update time>
//
// with three words for each of forward, input gradient and weight gradient: the compute
// time, the collective, its bytes. A pass runs all layers forward, then backward; a layer's
// weight gradients are under way until the next pass comes to the layer. A microbenchmark
// (MICRO) runs its collectives one after the other, where SimAI starts the first alone.
//
// Stages of a pipeline (pp) send vpp*ga messages of pp_comm bytes forward and as many
// backward, as SimAI's analytical model counts them. The file does not say when: they are
// spread evenly over the layers.
//
// The loss report names what the Source has not.
func Read(name string, in io.Reader, o Options) (*Source, *graph.Loss, error) {
	r := &reader{
		Reader: lines.NewReader(name, in), options: o, unit: o.TimeUnit, loss: &graph.Loss{}, labels: newLabels("forward", "backward"),
		header: map[string]number{}, marked: map[string][]number{},
	}
	if r.unit == 0 {
		r.unit = units.Nanosecond
	}
	if err := r.readHeader(); err != nil {
		return nil, nil, err
	}
	if err := r.readLayers(); err != nil {
		return nil, nil, err
	}
	layout, err := r.layout()
	if err != nil {
		return nil, nil, err
	}
	if err := r.marks(); err != nil {
		return nil, nil, err
	}
	if err := r.pipeline(layout); err != nil {
		return nil, nil, err
	}
	r.stages = layout.PP
	r.policy.order(r)
	s := &Source{
		Names: r.labels.Labels, Layout: layout, Passes: max(1, o.Passes), Stages: [][]Item{r.items},
		Choices: o.Choices,
	}
	if err := s.settle(r.Reader, r.time); err != nil {
		return nil, nil, err
	}
	return s, r.loss, nil
}

// headerKeys have a number each; a colon may follow.
var headerKeys = []string{"model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "pp_comm", "DLRM_LAST_BOTTOM_LAYER", "checkpoints", "checkpoint_initiates"}

func (r *reader) readHeader() error {
	words, err := r.Next()
	if err != nil {
		return err
	}
	if words == nil {
		return r.Errorf(r.Last(), "the file is empty")
	}
	var ok bool
	if r.policy, ok = policies[words[0].Text]; !ok {
		return r.Unknown("policy", words[0], Policies()...)
	}
	r.name = words[0]
	rest := words[1:]
	if r.name.Text == "HYBRID_DLRM" || r.name.Text == "HYBRID_DLRM_ENHANCED" {
		// ASTRA-sim writes the number by itself.
		if len(rest) == 1 {
			rest = []lines.Word{{Pos: rest[0].Pos, Text: "DLRM_LAST_BOTTOM_LAYER"}, rest[0]}
		}
	}
	for len(rest) > 0 {
		key := rest[0]
		name := strings.TrimSuffix(key.Text, ":")
		if !slices.Contains(headerKeys, name) {
			return r.Unknown("word", lines.Word{Pos: key.Pos, Text: name}, headerKeys...)
		}
		if _, ok := r.header[name]; ok {
			return r.Errorf(key.Pos, "%s is given twice", name)
		}
		rest = rest[1:]
		v, err := r.value(name, key, &rest)
		if err != nil {
			return err
		}
		r.header[name] = v
		if name != "checkpoints" && name != "checkpoint_initiates" {
			continue
		}
		for range v.value {
			layer, err := r.value("layer", key, &rest)
			if err != nil {
				return err
			}
			r.marked[name] = append(r.marked[name], layer)
		}
	}
	return nil
}

// value takes a number from behind key.
func (r *reader) value(what string, key lines.Word, rest *[]lines.Word) (number, error) {
	if len(*rest) == 0 {
		return number{}, r.Errorf(key.End(), "the line ends after %s, want its number", key.Text)
	}
	high := int64(maxRanks)
	if what == "pp_comm" {
		high = math.MaxInt32 << 16
	}
	v, err := whole(r.Reader, what, (*rest)[0], 0, high)
	if err != nil {
		return number{}, err
	}
	n := number{(*rest)[0], v}
	*rest = (*rest)[1:]
	return n, nil
}

// whole reads a number from low to high. Python's division has left some with a fraction of zero,
// such as 8388608.0, which SimAI takes for whole.
func whole(r *lines.Reader, what string, w lines.Word, low, high int64) (int64, *lines.Error) {
	if text, zeros, ok := strings.Cut(w.Text, "."); ok && zeros != "" && strings.Trim(zeros, "0") == "" {
		w.Text = text
	}
	return r.Int(what, w, low, high)
}

func (r *reader) readLayers() error {
	words, err := r.Next()
	if err != nil {
		return err
	}
	if words == nil {
		return r.Errorf(r.Last(), "the number of layers is missing")
	}
	count, e := r.Int("number of layers", words[0], 1, maxLayers)
	if e != nil {
		return e
	}
	if len(words) > 1 {
		return r.Errorf(words[1].Pos, "unexpected %q after the number of layers", words[1].Text)
	}
	at := words[0].Pos
	err = r.Each(func(words []lines.Word) error {
		if int64(len(r.layers)) == count {
			return r.Errorf(words[0].Pos, "line %d says %d layers, here is one more", at.Line, count)
		}
		return r.readLayer(words)
	})
	if n := len(r.layers); err == nil && int64(n) < count {
		return r.Errorf(at, "the line says %d layers, the file has %d", count, n)
	}
	return err
}

// fields of a layer's line.
var fields = []string{
	"name", "dependency", "forward time", "forward collective", "forward bytes", "input gradient time", "input gradient collective", "input gradient bytes",
	"weight gradient time", "weight gradient collective", "weight gradient bytes", "update time",
}

func (r *reader) readLayer(words []lines.Word) error {
	if len(words) < len(fields) {
		return r.Errorf(words[len(words)-1].End(), "the line ends after the %s, want the %s", fields[len(words)-1], fields[len(words)])
	}
	if len(words) > len(fields) {
		return r.Errorf(words[len(fields)].Pos, "unexpected %q after the update time", words[len(fields)].Text)
	}
	l := layer{name: strings.Clone(words[0].Text)}
	dep, e := r.Int("dependency", words[1], -1, maxLayers)
	if e != nil {
		return e
	}
	if dep != -1 {
		r.loss.Add("dependencies of layers, which SimAI does not look at either; layers are played in the order of the file", r.Place(words[1].Pos))
	}
	for i, p := range []*part{&l.fwd, &l.ig, &l.wg} {
		if err := r.readPart(p, i, l.name, words[2+3*i:5+3*i]); err != nil {
			return err
		}
	}
	var err error
	if l.update, err = r.duration(fields[11], words[11]); err != nil {
		return err
	}
	r.layers = append(r.layers, l)
	return nil
}

// duration reads a compute time.
func (r *reader) duration(what string, w lines.Word) (units.Duration, error) {
	v, e := r.Int(what, w, 0, int64(maxTime/units.Nanosecond))
	if e != nil {
		return 0, e
	}
	if v > int64(maxTime/r.unit) {
		return 0, r.Errorf(w.Pos, "%s %s is more than %v", what, w.Text, maxTime)
	}
	return units.Duration(v) * r.unit, nil
}

// comms are the collectives by name.
var comms = map[string]collective.Kind{
	"ALLREDUCE": collective.AllReduce, "ALLTOALL": collective.AllToAll, "ALLGATHER": collective.AllGather,
	"REDUCESCATTER": collective.ReduceScatter, "BROADCAST": collective.Broadcast, "ALLREDUCEALLTOALL": collective.AllReduce,
}

// readPart reads the time, the collective and the bytes of the part i of a layer.
func (r *reader) readPart(p *part, i int, layer string, words []lines.Word) error {
	var err error
	if p.compute, err = r.duration(fields[2+3*i], words[0]); err != nil {
		return err
	}
	bytes, e := whole(r.Reader, fields[4+3*i], words[2], 0, maxBytes)
	if e != nil {
		return e
	}
	text := words[1].Text
	if text == "NONE" {
		if bytes > 0 {
			r.loss.Add("bytes of layers without a collective, which send nothing", r.Place(words[2].Pos))
		}
		return nil
	}
	name, suffix, _ := strings.Cut(text, "_")
	group := r.policy.fwd
	if i == 2 {
		group = r.policy.wg
	}
	switch suffix {
	case "":
	case "EP":
		group = EP
	case "DP_EP":
		group = DPEP
	default:
		return r.Unknown("suffix", lines.Word{Pos: lines.Pos{Line: words[1].Line, Column: words[1].Column + len(name) + 1}, Text: suffix}, "EP", "DP_EP")
	}
	kind, ok := comms[name]
	if !ok {
		return r.Unknown("collective", lines.Word{Pos: words[1].Pos, Text: name}, "NONE", "ALLREDUCE", "ALLTOALL", "ALLGATHER", "REDUCESCATTER", "ALLREDUCEALLTOALL", "BROADCAST")
	}
	if name == "ALLREDUCEALLTOALL" {
		r.loss.Add("collectives ALLREDUCEALLTOALL, played as all-reduces", r.Place(words[1].Pos))
	}
	if bytes == 0 {
		r.loss.Add("collectives of no bytes, which send nothing", r.Place(words[2].Pos))
		return nil
	}
	dropped := r.policy.has>>i&1 == 0
	if r.policy.embeddings && i < 2 {
		dropped = kind != collective.AllToAll || i == 1 && len(r.layers) > 0
	}
	if dropped {
		r.loss.Add("collectives that the policy "+r.name.Text+" does not run", r.Place(words[1].Pos))
		return nil
	}
	if bytes > maxBytes-r.bytes {
		return r.Errorf(words[2].Pos, "bytes %s: the collectives up to here carry more than %d", words[2].Text, int64(maxBytes))
	}
	r.bytes += bytes
	p.comm = Item{Do: Collective, Kind: kind, Group: group, Bytes: units.Size(bytes), Line: int32(words[1].Line)}
	part := [...]string{"forward", "input gradient", "weight gradient"}[i]
	// A weight gradient may be under way beside that of the next layer, which then has
	// another label.
	p.comm.Index = r.labels.add(layer+" "+part, &p.comm, i == 2)
	return nil
}
