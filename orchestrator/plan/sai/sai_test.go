package sai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/sai"
)

// fabric has tor0 and tor1 with two hosts each, and two spines; the queues are of 100 kB.
const fabric = `
schema: 1
name: sai
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 1MB]}
`

// objects are those of one switch, by ID.
type objects map[string]sai.Object

// export returns the objects of the switches, by name, as a reader of the JSON gets them.
func export(t *testing.T, p *plan.Plan) map[string]objects {
	t.Helper()
	var b bytes.Buffer
	if err := sai.Write(&b, p, 1); err != nil {
		t.Fatal(err)
	}
	var d sai.Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]objects{}
	for _, s := range d.Switches {
		all[s.Name] = objects{}
		for _, o := range s.Objects {
			if _, twice := all[s.Name][o.ID]; twice {
				t.Fatalf("%s has two objects %s", s.Name, o.ID)
			}
			for name, value := range o.Attributes {
				refers := strings.HasSuffix(name, "_ID") || slices.Contains([]string{
					"rif_id", "SAI_QUEUE_ATTR_PORT", "SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP", "SAI_INGRESS_PRIORITY_GROUP_ATTR_PORT",
					"SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE", "SAI_ACL_ENTRY_ATTR_ACTION_INT_INSERT",
				}, name)
				if id, text := value.(string); refers && (!text || all[s.Name][id].Type == "") {
					t.Errorf("%s: %s of %s names %v, which does not stand before it", s.Name, name, o.ID, value)
				}
				if refers || strings.ToLower(name) == name {
					continue
				}
				if kind := "SAI_" + strings.TrimPrefix(o.Type, "SAI_OBJECT_TYPE_") + "_ATTR_"; !strings.HasPrefix(name, kind) {
					t.Errorf("%s is no attribute of %s", name, o.Type)
				}
			}
			all[s.Name][o.ID] = o
		}
	}
	return all
}

// want compares some attributes of an object. Numbers are as JSON has them.
func (o objects) want(t *testing.T, id string, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for name := range want {
		got[name] = o[id].Attributes[name]
		if of, ours := strings.CutPrefix(name, "ours."); ours {
			got[name] = o[id].Ours[of]
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s (-got +want):\n%s", id, diff)
	}
}

func count(o objects, kind string) (n int) {
	for _, one := range o {
		if one.Type == "SAI_OBJECT_TYPE_"+kind {
			n++
		}
	}
	return n
}

// What a switch is configured with stands under the names of SAI: rates, queues, thresholds,
// routes with their groups. The ports of a group are those of the plan's routes.
func TestSwitch(t *testing.T) {
	p := backendtest.Compile(t, fabric+"links: {queue: 100kB, ecn: {low: 20kB, high: 80kB}}\n")
	all := export(t, p)
	tor, agg := all["tor0"], all["agg1"]
	tor.want(t, "port0", map[string]any{"SAI_PORT_ATTR_SPEED": 100_000.0, "SAI_PORT_ATTR_MTU": 4150.0, "SAI_PORT_ATTR_ADMIN_STATE": true, "ours.name": "tor0-h0", "SAI_PORT_ATTR_INT_METADATA": nil})
	tor.want(t, "port2", map[string]any{"SAI_PORT_ATTR_SPEED": 400_000.0, "ours.name": "tor0-agg0"})
	profile := tor["port0-queue0"].Attributes["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"].(string)
	tor.want(t, profile, map[string]any{
		"SAI_BUFFER_PROFILE_ATTR_SHARED_STATIC_TH":             100_000.0,
		"SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION": "SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP_AND_TRIM",
	})
	control := tor["port0-queue1"].Attributes
	tor.want(t, control["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"].(string), map[string]any{"SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION": nil})
	tor.want(t, control["SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID"].(string), map[string]any{"SAI_SCHEDULER_ATTR_SCHEDULING_TYPE": "SAI_SCHEDULING_TYPE_STRICT"})
	tor.want(t, tor["port0-queue0"].Attributes["SAI_QUEUE_ATTR_WRED_PROFILE_ID"].(string), map[string]any{
		"SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MIN_THRESHOLD": 20_000.0, "SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MAX_THRESHOLD": 80_000.0,
		"SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MARK_PROBABILITY": 100.0, "SAI_WRED_ATTR_ECN_MARK_MODE": "SAI_ECN_MARK_MODE_ALL",
	})
	tor.want(t, "route-h0", map[string]any{"destination": "10.0.0.1/32", "SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID": "nexthop0"})
	tor.want(t, "nexthop0", map[string]any{"SAI_NEXT_HOP_ATTR_IP": "10.0.0.1"})
	tor.want(t, "neighbor0", map[string]any{"SAI_NEIGHBOR_ENTRY_ATTR_DST_MAC_ADDRESS": "02:00:00:00:00:00", "ip_address": "10.0.0.1"})
	group := tor["route-h3"].Attributes["SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID"].(string)
	if other := tor["route-h2"].Attributes["SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID"]; other != group || count(tor, "NEXT_HOP_GROUP") != 1 {
		t.Errorf("routes to h2 and h3 have groups %v and %v of %d", other, group, count(tor, "NEXT_HOP_GROUP"))
	}
	for _, port := range []int{2, 3} {
		tor.want(t, fmt.Sprintf("%s-%d", group, port), map[string]any{"SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID": fmt.Sprintf("nexthop%d", port), "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT": 1.0})
	}
	if count(agg, "NEXT_HOP_GROUP") != 0 || count(agg, "PORT") != 2 || count(agg, "ROUTE_ENTRY") != 4 || count(agg, "TAM_INT") != 0 {
		t.Errorf("agg1 has %d groups, %d ports, %d routes and %d objects of CSIG", count(agg, "NEXT_HOP_GROUP"), count(agg, "PORT"), count(agg, "ROUTE_ENTRY"), count(agg, "TAM_INT"))
	}
	seeds := map[any]bool{}
	for name, o := range all {
		seeds[o["switch"].Attributes["SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED"]] = true
		if len(o) == 0 {
			t.Errorf("%s has no objects", name)
		}
	}
	if len(seeds) != 4 {
		t.Errorf("hash seeds %v of 4 switches", seeds)
	}
}

// "Each signal type processing requires creation of a corresponding TAM INT object", of each
// format; the ranges and steps are those by which the plan's tags are read.
func TestCSIG(t *testing.T) {
	p := backendtest.Compile(t, fabric+`
csig:
  format: compact
  interval: 256us
  locators: registry
  quantisers: {delay: "edges(0ns, 250ns, 1us)"}
  second: {quantisers: {delay: "linear(32ns, 1024ns)"}}
  speakers: {switches: [tor*, agg0]}
  ports: [{switch: tor0, to: host, policy: strip}, {switch: tor1, to: host, type: delay, policy: pass}]
`)
	all := export(t, p)
	if tor, agg := all["tor0"], all["agg1"]; count(tor, "TAM_INT") != 8 || count(tor, "ACL_ENTRY") != 8 || count(agg, "TAM_INT") != 0 || count(agg, "ACL_ENTRY") != 0 {
		t.Errorf("tor0 has %d objects and %d rules, agg1, which does not speak, %d", count(tor, "TAM_INT"), count(tor, "ACL_ENTRY"), count(agg, "TAM_INT"))
	}
	tor := all["tor0"]
	tor.want(t, "csig-compact-delay", map[string]any{
		"SAI_TAM_INT_ATTR_TYPE": "SAI_TAM_INT_TYPE_CSIG_COMPACT", "SAI_TAM_INT_ATTR_ETH_TYPE_CODE_POINT": "0x88b5",
		"SAI_TAM_INT_ATTR_CSIG_SIGNAL_TYPE": "SAI_CSIG_SIGNAL_TYPE_DELAY", "SAI_TAM_INT_ATTR_QUANT_BANDS": 3.0, "SAI_TAM_INT_ATTR_CSIG_D_BIT": true,
		"SAI_TAM_INT_ATTR_QUANT_BAND_UINT32_RANGE_LIST": []any{
			map[string]any{"min": 0.0, "max": 249.0}, map[string]any{"min": 250.0, "max": 999.0}, map[string]any{"min": 1000.0, "max": 4294967295.0},
		},
		"ours.unit": "ns", "SAI_TAM_INT_ATTR_BW_TIME_INTERVAL": nil,
	})
	tor.want(t, "csig-compact-abw", map[string]any{ // 400 Gb/s are 5e10 B/s
		"SAI_TAM_INT_ATTR_BW_TIME_INTERVAL": "SAI_TAM_INT_BW_TIME_INTERVAL_256", "SAI_TAM_INT_ATTR_BW_TIME_INTERVAL_UNIT": "SAI_TAM_INT_BW_TIME_INTERVAL_UNIT_USEC",
		"SAI_TAM_INT_ATTR_QUANT_BANDS": 32.0, "SAI_TAM_INT_ATTR_QUANT_BAND_UINT32_RANGE_LIST": nil,
	})
	domain := p.Domain()
	for i, r := range tor["csig-compact-abw"].Ours["ranges"].([]any) {
		low := uint64(r.(map[string]any)["min"].(float64))
		if s := domain.Quantise(0, low); s.Low != low {
			t.Errorf("range %d begins at %d, and tags have a range from %d there", i, low, s.Low)
		}
	}
	tor.want(t, "csig-wide-delay", map[string]any{
		"SAI_TAM_INT_ATTR_TYPE": "SAI_TAM_INT_TYPE_CSIG_WIDE", "SAI_TAM_INT_ATTR_ETH_TYPE_CODE_POINT": "0x88b6",
		"SAI_TAM_INT_ATTR_WIDE_QUANT_BASE_VALUE": 1024.0, "SAI_TAM_INT_ATTR_WIDE_QUANT_STEP_VALUE": 32.0, "SAI_TAM_INT_ATTR_QUANT_BANDS": 1048576.0,
	})
	tor.want(t, "port0", map[string]any{"SAI_PORT_ATTR_INT_DELETE": true, "SAI_PORT_ATTR_INT_METADATA": 1.0, "ours.outside": true})
	tor.want(t, "port2", map[string]any{"SAI_PORT_ATTR_INT_DELETE": false, "SAI_PORT_ATTR_INT_METADATA": 3.0, "ours.policies": nil})
	all["tor1"].want(t, "port0", map[string]any{"SAI_PORT_ATTR_INT_DELETE": false, "ours.policies": []any{"update", "update", "pass", "update"}})
	all["agg1"].want(t, "port0", map[string]any{"SAI_PORT_ATTR_INT_DELETE": nil, "SAI_PORT_ATTR_INT_METADATA": nil})
}

// Of the windows of available bandwidth SAI names multiples of 128 up to 1024; others are the
// vendor's.
func TestIntervals(t *testing.T) {
	for given, want := range map[string]string{
		"128us":  "SAI_TAM_INT_BW_TIME_INTERVAL_128 SAI_TAM_INT_BW_TIME_INTERVAL_UNIT_USEC <nil>",
		"1024us": "SAI_TAM_INT_BW_TIME_INTERVAL_1024 SAI_TAM_INT_BW_TIME_INTERVAL_UNIT_USEC <nil>",
		"256ns":  "SAI_TAM_INT_BW_TIME_INTERVAL_256 SAI_TAM_INT_BW_TIME_INTERVAL_UNIT_NANOSEC <nil>",
		"100us":  "SAI_TAM_INT_BW_TIME_INTERVAL_VENDOR_DEFINED <nil> 100us",
	} {
		o := export(t, backendtest.Compile(t, fabric+"csig: {format: wide, interval: "+given+"}\n"))["tor0"]["csig-wide-abw-c"]
		if got := fmt.Sprintln(o.Attributes["SAI_TAM_INT_ATTR_BW_TIME_INTERVAL"], o.Attributes["SAI_TAM_INT_ATTR_BW_TIME_INTERVAL_UNIT"], o.Ours["interval"]); strings.TrimSpace(got) != want {
			t.Errorf("%s: %swant %s", given, got, want)
		}
	}
}

// Classes have queues, schedulers and a map of their own; a lossless one has flow control and a
// priority group in place of a limit, and all share the memory. RED has its probability and weight.
func TestClasses(t *testing.T) {
	p := backendtest.Compile(t, fabric+`
links:
  buffer: {shared: 1MB, alpha: 0.5}
  aqm: {name: red, low: 10kB, high: 40kB, max_p: 0.2, weight: 0.002}
classes:
  - {name: bulk, dscp: 8, weight: 3}
  - {name: storage, dscp: 26, strict: true, lossless: true}
`)
	o := export(t, p)["tor0"]
	o.want(t, "pool", map[string]any{"SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE": "SAI_BUFFER_POOL_THRESHOLD_MODE_DYNAMIC", "ours.alpha": 0.5})
	o.want(t, "dscp-to-tc", map[string]any{"SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST": []any{
		map[string]any{"key": map[string]any{"dscp": 10.0}, "value": map[string]any{"tc": 0.0}}, // default
		map[string]any{"key": map[string]any{"dscp": 8.0}, "value": map[string]any{"tc": 1.0}},
		map[string]any{"key": map[string]any{"dscp": 26.0}, "value": map[string]any{"tc": 2.0}},
	}})
	o.want(t, "port1", map[string]any{"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL": 4.0, "SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP": "dscp-to-tc"})
	bulk := o["port1-queue1"].Attributes
	o.want(t, bulk["SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID"].(string), map[string]any{"SAI_SCHEDULER_ATTR_SCHEDULING_TYPE": "SAI_SCHEDULING_TYPE_DWRR", "SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT": 3.0})
	o.want(t, bulk["SAI_QUEUE_ATTR_WRED_PROFILE_ID"].(string), map[string]any{
		"SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MIN_THRESHOLD": 10_000.0, "SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MAX_THRESHOLD": 40_000.0,
		"SAI_WRED_ATTR_ECN_COLOR_UNAWARE_MARK_PROBABILITY": 20.0, "SAI_WRED_ATTR_WEIGHT": 9.0, // 2^-9 is 0.00195
	})
	o.want(t, "port1-queue2", map[string]any{"SAI_QUEUE_ATTR_BUFFER_PROFILE_ID": nil, "ours.name": "storage"})
	in := p.Switch(4).Ports[1].Classes[2].Ingress
	o.want(t, o["port1-group2"].Attributes["SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"].(string), map[string]any{
		"SAI_BUFFER_PROFILE_ATTR_XOFF_TH": float64(in.Headroom), "SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE": "SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC",
		"SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH": -1.0,
	})
	if count(o, "QUEUE") != 4*4 || count(o, "INGRESS_PRIORITY_GROUP") != 4 {
		t.Errorf("%d queues and %d groups of 4 ports", count(o, "QUEUE"), count(o, "INGRESS_PRIORITY_GROUP"))
	}
}
