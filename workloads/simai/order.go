package simai

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Phases of a pass.
const (
	forward  = 0
	backward = 1
)

// layout finds out which ranks work together.
func (r *reader) layout() (Layout, error) {
	l := Layout{TP: 1, DP: 1, PP: 1, EP: 1}
	for _, key := range []string{"model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus"} {
		v, ok := r.header[key]
		if ok && v.value == 0 {
			return l, r.Errorf(v.word.Pos, "%s is 0", key)
		}
		if r.policy.header && !ok && key == "model_parallel_NPU_group" {
			return l, r.Errorf(r.name.End(), "%s needs %s:", r.name.Text, key)
		}
	}
	all := int64(r.options.Ranks)
	if v, ok := r.header["all_gpus"]; ok {
		if all != 0 && v.value != all {
			return l, r.Errorf(v.word.Pos, "the file is written for %d ranks, not for %d", v.value, all)
		}
		all = v.value
	}
	if all == 0 {
		return l, r.Errorf(r.name.End(), "the file does not say how many ranks there are (all_gpus:); say it with the option ranks")
	}
	if all > maxRanks {
		return l, r.Errorf(r.name.Pos, "%d ranks, want at most %d", all, maxRanks)
	}
	if !r.policy.header {
		l.DP = int(all)
		return l, nil
	}
	tp, pp := r.header["model_parallel_NPU_group"].value, max(1, r.header["pp"].value)
	if all%(tp*pp) != 0 {
		return l, r.Errorf(r.name.Pos, "%d ranks are no multiple of tensor parallelism %d times pipeline parallelism %d", all, tp, pp)
	}
	l = Layout{TP: int(tp), PP: int(pp), DP: int(all / (tp * pp)), EP: 1}
	if v, ok := r.header["ep"]; ok {
		if int64(l.DP)%v.value != 0 {
			return l, r.Errorf(v.word.Pos, "expert parallelism %d does not divide data parallelism %d", v.value, l.DP)
		}
		l.EP = int(v.value)
	}
	return l, nil
}

// marks marks the layers whose forward pass is done again before their gradients.
func (r *reader) marks() error {
	for _, key := range []string{"checkpoints", "checkpoint_initiates"} {
		for _, n := range r.marked[key] {
			switch {
			case r.name.Text != "HYBRID_TRANSFORMER_FWD_IN_BCKWD":
				return r.Errorf(n.word.Pos, "%s has no %s", r.name.Text, key)
			case n.value >= int64(len(r.layers)):
				return r.Errorf(n.word.Pos, "layer %d of %d (from 0)", n.value, len(r.layers))
			}
		}
	}
	checkpoint := make([]bool, len(r.layers))
	for _, n := range r.marked["checkpoints"] {
		checkpoint[n.value] = true
	}
	last := graph.None
	for i := range r.layers {
		if checkpoint[i] {
			last = i
		}
		r.layers[i].from = last
	}
	again := 0
	for _, n := range r.marked["checkpoint_initiates"] {
		l := &r.layers[n.value]
		if l.from == graph.None {
			return r.Errorf(n.word.Pos, "layer %d computes again from a checkpoint, and no layer up to it is one", n.value)
		}
		l.recomputing = true
		if again += int(n.value) - l.from; again > maxLayers {
			return r.Errorf(n.word.Pos, "more than %d layers compute again", maxLayers)
		}
	}
	return nil
}

// pipeline finds out what the stages send.
func (r *reader) pipeline(l Layout) error {
	v, ok := r.header["pp_comm"]
	switch {
	case l.PP == 1 && ok && v.value > 0:
		r.loss.Add("sizes of pipeline messages of a single stage, which sends none", r.Place(v.word.Pos))
		return nil
	case l.PP == 1:
		return nil
	case !ok || v.value == 0:
		r.loss.Add("pipelines without pp_comm, whose stages send each other nothing", r.Place(r.header["pp"].word.Pos))
		return nil
	}
	parts := max(1, r.header["vpp"].value) * max(1, r.header["ga"].value)
	if parts > maxParts {
		return r.Errorf(v.word.Pos, "vpp times ga is %d, want at most %d", parts, maxParts)
	}
	r.loss.AddN("pipeline messages whose place in the pass the file does not say, spread evenly over the layers", r.Place(v.word.Pos), int(2*parts))
	r.parts, r.ppBytes = int(parts), units.Size(v.value)
	return nil
}

// emit appends an item.
func (r *reader) emit(i Item) { r.items = append(r.items, i) }

// compute appends a compute time, if there is one.
func (r *reader) compute(phase int32, d units.Duration) {
	if d > 0 {
		r.time += d
		r.emit(Item{Do: Compute, Phase: phase, Duration: d})
	}
}

// run appends the collective of a part, if it has one, and returns its slot if it is
// asynchronous.
func (r *reader) run(phase int32, p *part, async bool) int32 {
	if p.comm.Bytes == 0 {
		return 0
	}
	item := p.comm
	item.Phase, item.Async = phase, async
	if async {
		r.lastSlot++
		item.Slot = r.lastSlot
	}
	r.emit(item)
	return item.Slot
}

// slots of the weight gradients: that of layer i is i+1.
func (r *reader) weights(phase int32, i int) {
	l := &r.layers[i]
	r.compute(phase, l.wg.compute)
	slot := int32(i + 1)
	if l.wg.comm.Bytes > 0 {
		item := l.wg.comm
		item.Phase, item.Async, item.Slot = phase, true, slot
		r.emit(item)
		if l.update > 0 {
			r.time += l.update
			r.emit(Item{Do: Compute, Phase: phase, Duration: l.update, Unit: 1, Async: true, After: slot, Slot: slot})
		}
		return
	}
	r.compute(phase, l.update)
}

// wait appends a Wait.
func (r *reader) wait(phase, slot int32) {
	if slot != 0 {
		r.emit(Item{Do: Wait, Phase: phase, Slot: slot})
	}
}

// forwards plays the layers forward, with what a pipeline sends.
func (r *reader) forwards() {
	r.lastSlot = int32(len(r.layers))
	r.emit(Item{Do: Begin, Phase: forward})
	in, out := 0, 0
	for i := range r.layers {
		for ; in < r.parts && r.first(in) == i; in++ {
			r.emit(Item{Do: Recv, Phase: forward, Peer: -1, Bytes: r.ppBytes})
		}
		r.forward(i)
		for ; out < r.parts && r.last(out) == i; out++ {
			r.emit(Item{Do: Send, Phase: forward, Async: true, Peer: 1, Bytes: r.ppBytes})
		}
	}
	r.emit(Item{Do: End, Phase: forward})
}

// first and last return the layers of a pipeline message: it is received in front of the
// first and sent behind the last.
func (r *reader) first(part int) int { return part * len(r.layers) / r.parts }

func (r *reader) last(part int) int { return max(r.first(part), r.first(part+1)-1) }

// forward plays a layer forward.
func (r *reader) forward(i int) {
	l := &r.layers[i]
	if l.wg.comm.Bytes > 0 {
		r.wait(forward, int32(i+1))
	}
	r.compute(forward, l.fwd.compute)
	r.run(forward, &l.fwd, false)
}

// layerwise plays forward, then layer by layer backward the input gradient, for whose
// collective the weight gradient waits, and the weight gradient, whose collective nobody
// waits for but the next pass.
func layerwise(r *reader) {
	r.forwards()
	r.emit(Item{Do: Begin, Phase: backward})
	in, out := r.parts-1, r.parts-1
	for i := len(r.layers) - 1; i >= 0; i-- {
		for ; in >= 0 && r.last(in) == i; in-- {
			r.emit(Item{Do: Recv, Phase: backward, Peer: 1, Bytes: r.ppBytes})
		}
		l := &r.layers[i]
		if l.recomputing {
			for j := l.from; j < i; j++ {
				again := r.layers[j].fwd
				r.compute(backward, again.compute)
				r.run(backward, &again, false)
			}
		}
		r.compute(backward, l.ig.compute)
		r.run(backward, &l.ig, false)
		r.weights(backward, i)
		for ; out >= 0 && r.first(out) == i; out-- {
			r.emit(Item{Do: Send, Phase: backward, Async: true, Peer: -1, Bytes: r.ppBytes})
		}
	}
	r.emit(Item{Do: End, Phase: backward})
}

// dataParallel plays forward, then backward the weight gradient of each layer in front of
// its input gradient, which the first layer needs none of.
func dataParallel(r *reader) {
	r.forwards()
	r.emit(Item{Do: Begin, Phase: backward})
	for i := len(r.layers) - 1; i >= 0; i-- {
		r.weights(backward, i)
		if i > 0 {
			r.compute(backward, r.layers[i].ig.compute)
		}
	}
	r.emit(Item{Do: End, Phase: backward})
}

// dlrm is dataParallel with an all-to-all of the embeddings, which are layer 0, that is
// waited for at the last layer of the bottom, and one of their gradients.
func dlrm(r *reader) {
	last := int(r.header["DLRM_LAST_BOTTOM_LAYER"].value)
	r.lastSlot = int32(len(r.layers))
	r.emit(Item{Do: Begin, Phase: forward})
	var embeddings int32
	for i := range r.layers {
		l := &r.layers[i]
		if l.wg.comm.Bytes > 0 {
			r.wait(forward, int32(i+1))
		}
		r.compute(forward, l.fwd.compute)
		if slot := r.run(forward, &l.fwd, true); i == 0 {
			embeddings = slot
		}
		if i == last {
			r.wait(forward, embeddings)
		}
	}
	r.emit(Item{Do: End, Phase: forward})
	r.emit(Item{Do: Begin, Phase: backward})
	var gradients int32
	for i := len(r.layers) - 1; i >= 0; i-- {
		r.weights(backward, i)
		if i == 0 && !r.policy.enhanced {
			r.wait(backward, gradients)
		}
		if i > 0 {
			r.compute(backward, r.layers[i].ig.compute)
		}
		if i == last+1 {
			gradients = r.run(backward, &r.layers[0].ig, true)
		}
	}
	r.emit(Item{Do: End, Phase: backward})
}

// inference plays forward alone.
func inference(r *reader) { r.forwards() }

// micro plays the weight gradients' collectives, one after the other.
func micro(r *reader) {
	r.emit(Item{Do: Begin, Phase: backward})
	for i := range r.layers {
		r.run(backward, &r.layers[i].wg, false)
	}
	r.emit(Item{Do: End, Phase: backward})
}
