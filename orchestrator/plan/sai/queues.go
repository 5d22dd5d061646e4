package sai

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/units"
)

// qosMap adds the map from DSCPs to classes; nothing without classes.
func (b *builder) qosMap() {
	if b.cfg.Classes == nil {
		return
	}
	var list []any
	for k, class := range b.cfg.Classes.List {
		list = append(list, map[string]any{"key": map[string]any{"dscp": class.DSCP}, "value": map[string]any{"tc": k}})
	}
	b.add("QOS_MAP", "dscp-to-tc", map[string]any{"SAI_QOS_MAP_ATTR_TYPE": "SAI_QOS_MAP_TYPE_DSCP_TO_TC", "SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST": list}, nil)
}

// pool adds the memory that all ports share, or, where they share none, one of what their queues
// have together.
func (b *builder) pool() string {
	attributes := map[string]any{"SAI_BUFFER_POOL_ATTR_TYPE": "SAI_BUFFER_POOL_TYPE_BOTH", "SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE": "SAI_BUFFER_POOL_THRESHOLD_MODE_STATIC"}
	if c := b.cfg.Classes; c != nil && c.Memory != nil {
		attributes["SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE"] = "SAI_BUFFER_POOL_THRESHOLD_MODE_DYNAMIC"
		attributes["SAI_BUFFER_POOL_ATTR_SIZE"] = int64(c.Memory.Shared)
		return b.add("BUFFER_POOL", "pool", attributes, map[string]any{"reserved": int64(c.Memory.Reserved), "alpha": c.Memory.Alpha})
	}
	var size units.Size
	for i := range b.cfg.Ports {
		p := &b.cfg.Ports[i]
		size += p.Buffer.Control
		if len(p.Classes) == 0 {
			size += p.Buffer.Longest()
		}
		for k := range p.Classes {
			class := &p.Classes[k]
			if b.cfg.Classes.List[k].Lossless {
				size += class.Ingress.XOff + class.Ingress.Headroom
			} else {
				size += class.Limits.Longest()
			}
		}
	}
	attributes["SAI_BUFFER_POOL_ATTR_SIZE"] = int64(size)
	return b.add("BUFFER_POOL", "pool", attributes, nil)
}

// queues adds the queues of a port: one for data, or one for each class, then that for what goes
// before data, such as ACKs and trimmed packets.
func (b *builder) queues(i int, pool string) {
	p := &b.cfg.Ports[i]
	if b.cfg.Classes == nil {
		b.queue(i, 0, b.profile(pool, p.Buffer, b.cfg.Trim), b.wred(p, b.cfg.AQM, p.Buffer.Data, p.ECN), b.scheduler(false, 1), "data")
	}
	for k := range p.Classes {
		class, of := &b.cfg.Classes.List[k], &p.Classes[k]
		profile := ""
		if class.Lossless {
			b.lossless(i, k, pool, &of.Ingress)
		} else {
			profile = b.profile(pool, of.Limits, b.cfg.Trim)
		}
		b.queue(i, k, profile, b.wred(p, b.cfg.Classes.AQM[k], of.Queue, of.ECN), b.scheduler(class.Strict, class.Weight), class.Name)
	}
	b.queue(i, max(1, len(p.Classes)), b.profile(pool, buffer.Limits{Data: p.Buffer.Control}, false), "", b.scheduler(true, 0), "control")
}

func (b *builder) queue(port, index int, profile, wred, scheduler, name string) {
	attributes := map[string]any{
		"SAI_QUEUE_ATTR_TYPE": "SAI_QUEUE_TYPE_UNICAST", "SAI_QUEUE_ATTR_PORT": portID(port), "SAI_QUEUE_ATTR_INDEX": index,
		"SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID": scheduler,
	}
	if profile != "" {
		attributes["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"] = profile
	}
	if wred != "" {
		attributes["SAI_QUEUE_ATTR_WRED_PROFILE_ID"] = wred
	}
	ours := map[string]any{"name": name}
	if name != "control" && wred == "" {
		aqmOf := b.cfg.AQM
		if b.cfg.Classes != nil {
			aqmOf = b.cfg.Classes.AQM[index]
		}
		ours["aqm"] = aqmOf.Name
	}
	b.add("QUEUE", fmt.Sprintf("%s-queue%d", portID(port), index), attributes, ours)
}

func (b *builder) scheduler(strict bool, weight int) string {
	if strict {
		return b.shared("SCHEDULER", "scheduler", map[string]any{"SAI_SCHEDULER_ATTR_SCHEDULING_TYPE": "SAI_SCHEDULING_TYPE_STRICT"}, nil)
	}
	return b.shared("SCHEDULER", "scheduler", map[string]any{"SAI_SCHEDULER_ATTR_SCHEDULING_TYPE": "SAI_SCHEDULING_TYPE_DWRR", "SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT": weight}, nil)
}

// profile returns the buffer profile of a queue. trims says that packets without room are trimmed.
func (b *builder) profile(pool string, limits buffer.Limits, trims bool) string {
	attributes := b.threshold(pool, limits.Data)
	ours := map[string]any{}
	if trims {
		attributes["SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION"] = "SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP_AND_TRIM"
	}
	if limits.Hard > 0 {
		ours["hard"] = int64(limits.Hard)
	}
	return b.shared("BUFFER_PROFILE", "profile", attributes, ours)
}

// threshold returns the attributes of what a queue, or a group of a port, may take of the pool.
func (b *builder) threshold(pool string, static units.Size) map[string]any {
	attributes := map[string]any{"SAI_BUFFER_PROFILE_ATTR_POOL_ID": pool, "SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE": 0}
	if c := b.cfg.Classes; c != nil && c.Memory != nil && static == units.NoLimit {
		attributes["SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE"] = "SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC"
		attributes["SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH"] = int(math.Round(math.Log2(c.Memory.Alpha))) // "alpha = 2^n"
		return attributes
	}
	attributes["SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE"] = "SAI_BUFFER_PROFILE_THRESHOLD_MODE_STATIC"
	attributes["SAI_BUFFER_PROFILE_ATTR_SHARED_STATIC_TH"] = int64(static)
	return attributes
}

// lossless adds the ingress priority group of a lossless class at a port. Its egress queue has no
// limit, and so no profile.
func (b *builder) lossless(port, class int, pool string, in *buffer.IngressLimits) {
	static := in.XOff
	if c := b.cfg.Classes; c.Memory != nil {
		static = units.NoLimit
	}
	attributes := b.threshold(pool, static)
	attributes["SAI_BUFFER_PROFILE_ATTR_XOFF_TH"] = int64(in.Headroom)
	attributes["SAI_BUFFER_PROFILE_ATTR_XON_TH"] = int64(in.XOn)
	b.add("INGRESS_PRIORITY_GROUP", fmt.Sprintf("%s-group%d", portID(port), class), map[string]any{
		"SAI_INGRESS_PRIORITY_GROUP_ATTR_PORT": portID(port), "SAI_INGRESS_PRIORITY_GROUP_ATTR_INDEX": class,
		"SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE": b.shared("BUFFER_PROFILE", "profile", attributes, map[string]any{}),
	}, nil)
}

// wred returns the profile by which a queue marks, "" if it does not mark by thresholds. The values
// are those with which the AQM runs.
func (b *builder) wred(p *dataplane.Port, choice algorithm.Choice, queue units.Size, ecn aqm.Thresholds) string {
	policy, ok := aqm.Table.Lookup(choice.Name)
	if !ok {
		return ""
	}
	values, err := policy.Resolve(aqm.Port{Rate: p.Rate, Queue: queue, ECN: ecn, Random: rand.New(rand.NewPCG(0, 0))}, choice.Params)
	if err != nil {
		panic("sai: " + err.Error()) // the plan has checked them
	}
	low, high, probability := values["low"], values["high"], 1.0
	ours := map[string]any{"aqm": choice.Name}
	attributes := map[string]any{"SAI_WRED_ATTR_ECN_MARK_MODE": "SAI_ECN_MARK_MODE_ALL"}
	switch choice.Name {
	case "linear":
	case "step":
		low, high = values["threshold"], values["threshold"]
	case "red":
		if probability, err = strconv.ParseFloat(values["max_p"], 64); err != nil {
			panic("sai: " + err.Error())
		}
		if weight, err := strconv.ParseFloat(values["weight"], 64); err == nil && weight > 0 {
			attributes["SAI_WRED_ATTR_WEIGHT"] = int(math.Round(-math.Log2(weight))) // "weight 2^-n"
		}
	default:
		return ""
	}
	attributes["SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MIN_THRESHOLD"] = size(low)
	attributes["SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MAX_THRESHOLD"] = size(high)
	attributes["SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MARK_PROBABILITY"] = int(math.Round(100 * probability))
	return b.shared("WRED", "wred", attributes, ours)
}

// size reads a size that an algorithm has resolved.
func size(text string) int64 {
	s, err := units.ParseSize(text)
	if err != nil {
		panic("sai: " + err.Error())
	}
	return int64(s)
}
