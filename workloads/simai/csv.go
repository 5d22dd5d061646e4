package simai

import (
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// csvColumns are the columns of AICB's files.
var csvColumns = []string{"comm_type", "comm_group", "msg_size", "stage", "comm_group_size", "dst", "src", "additional", "_elapsed_time", "algbw", "busbw", "count"}

// csvNeeded are the columns that a file must have.
var csvNeeded = csvColumns[:4]

// maxRows bounds the rows of a file, with those that a count repeats.
const maxRows = 1 << 20

// LooksCSV reports whether a file that begins with start looks like one of AICB's CSV files.
func LooksCSV(start string) bool {
	first, _, _ := strings.Cut(start, "\n")
	ranks := strings.HasPrefix(first, "[") && strings.Contains(first, "rank")
	return ranks || strings.HasPrefix(first, "comm_type,") || looksSpecification(start)
}

// looksSpecification reports whether a file is AICB's table of model parameters, which is
// no workload.
func looksSpecification(start string) bool {
	first, _, _ := strings.Cut(start, "\n")
	return strings.HasPrefix(strings.Join(strings.Fields(first), " "), "id Name Parameter_size")
}

// csvReader is the state of one ReadCSV.
type csvReader struct {
	*lines.Reader
	options Options
	loss    *graph.Loss
	labels  *labels

	columns  []int // of csvNeeded and the others: position in the row, or -1
	least    int   // fields that a row must have
	started  bool  // the columns of the section have been read
	sections []section
	sizes    map[GroupKind]size
	unsized  map[GroupKind]lines.Pos // the first row whose group has no size
	rows     int
	bytes    int64
	time     units.Duration
}

// section is the rows of a pipeline stage.
type section struct {
	at    lines.Pos
	first int // rank
	ranks int // 0: the file does not say
	items []Item
	phase int32
	batch batch
}

// batch is the messages of the last rows: one or more irecv and then isend of the same other
// stage, which Megatron starts together.
type batch struct {
	receives int // at the end of the items, but for what has been sent beside them
	peer     int32
	sends    bool // there is an isend
}

// size is the number of ranks of a kind of group and where it was said first.
type size struct {
	ranks int
	at    lines.Pos
}

// ReadCSV reads a CSV file of AICB. name stands for the file in errors, which are *Error.
// Each stage of a pipeline has a section that begins with its ranks:
//
//	[ pp_stage0: [rank0, rank1] ]
//	comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
//	CommType.all_reduce,CommGroup.tp_group,2,16777216,forward.MegatronEmbedding,None,None,,None,None,None,1
//
// Rows follow one another; the messages to other stages (isend) are under way until the end
// of the pass. An isend directly behind an irecv of the same other stage is sent at the same
// time: they are a batch of Megatron, which both stages begin with their irecv. A size is that
// of the whole array. The parallelism follows from the sizes of the groups; a group without one
// has that of its other rows, or what is left of Options.Ranks. Phases are the beginnings of the
// column stage.
//
// The loss report names what the Source has not, such as times and bandwidths that AICB has
// measured.
func ReadCSV(name string, in io.Reader, o Options) (*Source, *graph.Loss, error) {
	r := &csvReader{Reader: lines.NewReader(name, in), options: o, loss: &graph.Loss{}, labels: newLabels(), sizes: map[GroupKind]size{}, unsized: map[GroupKind]lines.Pos{}}
	for {
		text, ok, err := r.Line()
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			break
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := r.line(text); err != nil {
			return nil, nil, err
		}
	}
	if len(r.sections) == 0 {
		return nil, nil, r.Errorf(r.Last(), "the file is empty")
	}
	layout, err := r.layout()
	if err != nil {
		return nil, nil, err
	}
	s := &Source{
		Names: r.labels.Labels, Layout: layout, Passes: max(1, o.Passes),
		Choices: o.Choices,
	}
	for i := range r.sections {
		r.endPhase(&r.sections[i])
	}
	r.embeddings()
	for i := range r.sections {
		s.Stages = append(s.Stages, r.sections[i].items)
	}
	if err := r.crossing(); err != nil {
		return nil, nil, err
	}
	if err := s.settle(r.Reader, r.time); err != nil {
		return nil, nil, err
	}
	return s, r.loss, nil
}

// line takes a line that is not empty.
func (r *csvReader) line(text string) error {
	at := lines.Pos{Line: r.Last().Line, Column: 1}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return r.section(text, at)
	}
	if looksSpecification(text) {
		return r.Errorf(at, "this is AICB's table of models, not a workload; AICB makes workloads from it")
	}
	row := csv.NewReader(strings.NewReader(text))
	fields, err := row.Read()
	if err != nil {
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return r.Errorf(lines.Pos{Line: at.Line, Column: parse.Column}, "%v", parse.Err)
		}
		return r.Errorf(at, "%v", err)
	}
	words := make([]lines.Word, len(fields))
	for i, f := range fields {
		_, column := row.FieldPos(i)
		words[i] = lines.Word{Pos: lines.Pos{Line: at.Line, Column: column}, Text: strings.TrimSpace(f)}
	}
	if words[0].Text == "comm_type" {
		return r.heading(words)
	}
	if !r.started {
		return r.Errorf(at, "want the names of the columns, which begin with comm_type")
	}
	if len(r.sections) == 0 {
		r.sections = append(r.sections, section{at: at, phase: graph.None})
	}
	return r.row(words)
}

// section takes the line that names the ranks of a stage: all, or the first and the last.
func (r *csvReader) section(text string, at lines.Pos) error {
	s := section{at: at, phase: graph.None}
	var ranks []int64
	rest, column := text, 1
	for {
		i := strings.Index(rest, "rank")
		if i < 0 {
			break
		}
		i += len("rank")
		n := 0
		for i+n < len(rest) && rest[i+n] >= '0' && rest[i+n] <= '9' {
			n++
		}
		v, err := r.Int("rank", lines.Word{Pos: lines.Pos{Line: at.Line, Column: column + i}, Text: rest[i : i+n]}, 0, maxRanks-1)
		if err != nil {
			return err
		}
		ranks = append(ranks, v)
		rest, column = rest[i+n:], column+i+n
	}
	if len(ranks) == 0 {
		return r.Errorf(at, "the line names no ranks, such as [rank0 ~ rank7]")
	}
	s.first = int(ranks[0])
	if len(ranks) == 2 && strings.Contains(text, "~") {
		s.ranks = int(ranks[1]-ranks[0]) + 1
	} else {
		for i, v := range ranks {
			if v != ranks[0]+int64(i) {
				return r.Errorf(at, "the ranks of a stage are not consecutive: rank %d follows rank %d", v, ranks[i-1])
			}
		}
		s.ranks = len(ranks)
	}
	want := 0
	if n := len(r.sections); n > 0 {
		last := &r.sections[n-1]
		want = last.first + last.ranks
		if last.ranks != s.ranks {
			return r.Errorf(at, "the stage has %d ranks, the one in line %d has %d", s.ranks, last.at.Line, last.ranks)
		}
	}
	if s.first != want || s.ranks < 1 {
		return r.Errorf(at, "the stage has the ranks from %d to %d; want the next from %d on", s.first, s.first+s.ranks-1, want)
	}
	r.sections = append(r.sections, s)
	r.started = false
	return nil
}

// heading takes the names of the columns.
func (r *csvReader) heading(words []lines.Word) error {
	r.columns = make([]int, len(csvColumns))
	for i := range r.columns {
		r.columns[i] = -1
	}
	for i, w := range words {
		at := slices.Index(csvColumns, w.Text)
		switch {
		case at < 0:
			r.loss.Add("columns "+strconv.Quote(w.Text[:min(len(w.Text), 40)])+", which csiglab has no use for", r.Place(w.Pos))
			continue
		case r.columns[at] >= 0:
			return r.Errorf(w.Pos, "column %s is given twice", w.Text)
		}
		r.columns[at] = i
	}
	r.least = 0
	for i, name := range csvNeeded {
		if r.columns[i] < 0 {
			return r.Errorf(words[len(words)-1].End(), "there is no column %s", name)
		}
		r.least = max(r.least, r.columns[i]+1)
	}
	r.started = true
	return nil
}

// field returns a field of a row; its Text is "" for None.
func (r *csvReader) field(words []lines.Word, name string) lines.Word {
	i := r.columns[slices.Index(csvColumns, name)]
	if i < 0 || i >= len(words) {
		return lines.Word{Pos: words[len(words)-1].End()}
	}
	w := words[i]
	if w.Text == "None" {
		w.Text = ""
	}
	return w
}

// csvComms are the collectives by name.
var csvComms = map[string]collective.Kind{
	"all_reduce": collective.AllReduce, "all_gather": collective.AllGather, "reduce_scatter": collective.ReduceScatter,
	"all_to_all": collective.AllToAll, "broadcast": collective.Broadcast, "reduce": collective.Reduce, "barrier": collective.Barrier,
	"gather": collective.Gather, "scatter": collective.Scatter,
	"all_gather_into_tensor": collective.AllGather, "reduce_scatter_tensor": collective.ReduceScatter, "all_to_all_single": collective.AllToAll,
}

// csvGroups are the groups by name.
var csvGroups = map[string]GroupKind{
	"tp_group": TP, "dp_group": DP, "ep_group": EP, "ep_dp_group": DPEP, "dp_ep_group": DPEP, "pp_group": PP, "embedding_group": Embedding, "all": World,
}

// row takes a row.
func (r *csvReader) row(words []lines.Word) error {
	s := &r.sections[len(r.sections)-1]
	if len(words) < r.least {
		return r.Errorf(words[len(words)-1].End(), "the row ends after %d fields", len(words))
	}
	count := int64(1)
	if w := r.field(words, "count"); w.Text != "" {
		v, err := r.Int("count", w, 1, maxRows)
		if err != nil {
			return err
		}
		count = v
	}
	if r.rows += int(count); r.rows > maxRows {
		return r.Errorf(words[0].Pos, "more than %d rows, with those that counts repeat", maxRows)
	}
	kind := r.field(words, "comm_type")
	what := strings.TrimPrefix(kind.Text, "CommType.")
	item, err := r.item(what, kind, words)
	if err != nil || item == nil {
		return err
	}
	r.phase(s, r.field(words, "stage").Text)
	item.Phase, item.Line = s.phase, int32(kind.Line)
	if bytes := int64(item.Bytes); bytes > 0 {
		if bytes > (maxBytes-r.bytes)/count {
			return r.Errorf(words[0].Pos, "the rows up to here carry more than %d bytes", int64(maxBytes))
		}
		r.bytes += bytes * count
	}
	for range count {
		if r.time += item.Duration; r.time > maxTime {
			return r.Errorf(words[0].Pos, "the rows up to here compute for more than %v", maxTime)
		}
		s.add(item)
	}
	if item.Do == Send {
		s.batch.sends = true
	}
	return nil
}

// add appends an item, or puts what is sent in front of the receives of its batch.
func (s *section) add(item *Item) {
	at := len(s.items)
	switch b := &s.batch; {
	case item.Do == Recv && (b.sends || b.peer != item.Peer):
		*b = batch{receives: 1, peer: item.Peer}
	case item.Do == Recv:
		b.receives++
	case item.Do == Send && b.peer == item.Peer:
		at -= b.receives
	default:
		*b = batch{}
	}
	s.items = slices.Insert(s.items, at, *item)
}

// item returns what a row says, or nil for what has no item.
func (r *csvReader) item(what string, at lines.Word, words []lines.Word) (*Item, error) {
	switch what {
	case "epoch_end":
		return nil, nil // everything waits for everything in front of it as it is
	case "computation":
		w := r.field(words, "_elapsed_time")
		unit := r.options.TimeUnit
		if w.Text == "" || unit == 0 {
			r.loss.Add("computations whose time, or its unit, the file does not say", r.Place(at.Pos))
			return nil, nil
		}
		v, err := units.Scale(w.Text, int64(unit))
		if (err != nil || v < 0 || v > int64(maxTime)) && !errors.Is(err, units.ErrTooFine) {
			return nil, r.Errorf(w.Pos, "time %q is no number from 0 on, or too large", w.Text)
		}
		if err != nil { // finer than a picosecond
			f, _ := strconv.ParseFloat(w.Text, 64)
			v = int64(math.Round(f * float64(unit)))
		}
		return &Item{Do: Compute, Duration: units.Duration(v)}, nil
	}
	group, kindOf, err := r.group(words, what == "isend" || what == "irecv")
	if err != nil {
		return nil, err
	}
	w := r.field(words, "msg_size")
	bytes, e := whole(r.Reader, "msg_size", w, 0, maxBytes)
	if e != nil {
		return nil, e
	}
	if t := r.field(words, "_elapsed_time"); t.Text != "" {
		r.loss.Add("measured times, as a run has times of its own", r.Place(t.Pos))
	}
	if what == "isend" || what == "irecv" {
		return r.pipe(what, words, bytes, w)
	}
	kind, ok := csvComms[what]
	if !ok {
		names := append(slices.Sorted(maps.Keys(csvComms)), "isend", "irecv", "epoch_end", "computation")
		return nil, r.Unknown("communication", lines.Word{Pos: at.Pos, Text: what}, names...)
	}
	if bytes == 0 && kind != collective.Barrier {
		r.loss.Add("collectives of no bytes, which send nothing", r.Place(w.Pos))
		return nil, nil
	}
	item := &Item{Do: Collective, Kind: kind, Group: kindOf, Bytes: units.Size(max(1, bytes))}
	if src := r.field(words, "src"); src.Text != "" {
		v, err := r.Int("src", src, 0, group-1)
		if err != nil {
			return nil, err
		}
		item.Root = int32(v)
	}
	item.Index = r.labels.add(strings.Join([]string{what, kindOf.String(), r.field(words, "stage").Text}, " "), item, false)
	return item, nil
}

// group returns the number of ranks of a row's group, or maxRanks if the row does not say it,
// and its kind.
func (r *csvReader) group(words []lines.Word, single bool) (int64, GroupKind, error) {
	w := r.field(words, "comm_group")
	name := strings.TrimPrefix(w.Text, "CommGroup.")
	kind, ok := csvGroups[name]
	if !ok {
		return 0, 0, r.Unknown("group", lines.Word{Pos: w.Pos, Text: name}, slices.Sorted(maps.Keys(csvGroups))...)
	}
	n := r.field(words, "comm_group_size")
	if n.Text == "" {
		if _, ok := r.unsized[kind]; !ok && !single {
			r.unsized[kind] = w.Pos
		}
		return maxRanks, kind, nil
	}
	v, err := r.Int("comm_group_size", n, 1, maxRanks)
	if err != nil {
		return 0, 0, err
	}
	if single { // a message has no group; AICB writes 1
		return v, kind, nil
	}
	if earlier, ok := r.sizes[kind]; ok && earlier.ranks != int(v) {
		return 0, 0, r.Errorf(n.Pos, "a group %s of %d ranks; the one in line %d has %d", name, v, earlier.at.Line, earlier.ranks)
	} else if !ok {
		r.sizes[kind] = size{int(v), n.Pos}
	}
	return v, kind, nil
}

// pipe returns a message between stages.
func (r *csvReader) pipe(what string, words []lines.Word, bytes int64, at lines.Word) (*Item, error) {
	if bytes == 0 {
		return nil, r.Errorf(at.Pos, "a message of no bytes")
	}
	item := &Item{Do: Recv, Bytes: units.Size(bytes)}
	to, from := "recv_next", "recv_prev"
	if what == "isend" {
		item.Do, item.Async = Send, true
		to, from = "send_next", "send_prev"
	}
	w := r.field(words, "additional")
	switch w.Text {
	case to:
		item.Peer = 1
	case from:
		item.Peer = -1
	default:
		return nil, r.Unknown("direction", w, to, from)
	}
	if n := len(r.sections) - 1; n == 0 && item.Peer < 0 {
		return nil, r.Errorf(w.Pos, "the first stage has none in front of it")
	}
	return item, nil
}

// phase begins the phase of a row, unless it is on.
func (r *csvReader) phase(s *section, stage string) {
	name, _, _ := strings.Cut(stage, ".")
	name, _, _ = strings.Cut(name, "_")
	at := int32(graph.None)
	if name != "" {
		at = int32(slices.Index(r.labels.Phases, name))
		if at < 0 && len(r.labels.Phases) < 100 {
			at = int32(len(r.labels.Phases))
			r.labels.Phases = append(r.labels.Phases, strings.Clone(name))
		}
	}
	if at == s.phase {
		return
	}
	r.endPhase(s)
	if s.phase = at; at >= 0 {
		s.add(&Item{Do: Begin, Phase: at})
	}
}

func (r *csvReader) endPhase(s *section) {
	if s.phase >= 0 {
		s.add(&Item{Do: End, Phase: s.phase})
	}
	s.phase = graph.None
}
