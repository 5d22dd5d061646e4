package experiment

import (
	"strings"
	"testing"
)

// What makes no sense among classes, buffers and flow control is refused, with its place.
func TestClassesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"classes: [{name: a}]":                                                                                "x.yaml:15:12: classes[0].dscp: only the class default may leave it out; want 1 to 63",
		"classes: [{name: a, dscp: 46}]":                                                                      "x.yaml:15:27: classes[0].dscp: 46 is a DSCP of control packets, with 46 and 11; take another",
		"classes: [{name: a, dscp: 64}]":                                                                      "64 is too large; the most is 63",
		"classes: [{name: a, dscp: 10}]":                                                                      "10 is the DSCP of the class default",
		"classes: [{name: a, dscp: 7}, {name: b, dscp: 7}]":                                                   "classes[1].dscp: 7 is the DSCP of classes[0] too",
		"classes: [{name: a, dscp: 7}, {name: a, dscp: 8}]":                                                   `classes[1].name: "a" is the name of classes[0] too`,
		"classes: [{name: a, dscp: 7, strict: true, weight: 2}]":                                              "classes[0].weight: excludes strict",
		"classes: [{name: a, dscp: 7, lossless: true, queue: 9kB}]":                                           "classes[0].queue: a lossless class has no limit of its queue; links.pfc.xoff says",
		"classes: [{name: a, dscp: 7, queue: 1kB}]":                                                           "classes[0].queue: 1kB does not hold one packet of 4.15kB",
		"classes: [{name: default, dscp: 7}]":                                                                 "classes[0].dscp: the class default has DSCP 10",
		"classes: [{name: default, match: {src: [0]}}]":                                                       "classes[0].match: the class default has what no other class matches",
		"classes: [{name: a, dscp: 7, match: {}}]":                                                            "classes[0].match: the lists are empty; want flows, groups, src, dst, hosts or jobs",
		"classes: [{name: a, dscp: 7, match: {src: [9]}}]":                                                    "classes[0].match.src[0]: no host 9; hosts go from 0 to 3",
		"classes: [{name: a, dscp: 7, match: {groups: [big]}}]":                                               `classes[0].match.groups[0]: no group "big" in measure.groups`,
		"classes: [{name: a, dscp: 7, losless: true}]":                                                        `classes[0].losless: unknown key "losless" (did you mean "lossless"?)`,
		"classes: [{name: a, dscp: 7, aqm: lineer}]":                                                          `unknown algorithm "lineer"; known: linear red step pie none (did you mean "linear"?)`,
		"classes: [{name: a, dscp: 7, aqm: {name: red, max_p: 2}}]":                                           "classes[0].aqm.max_p: 2 is not in (0, 1]",
		"classes: [{name: a, dscp: 7, aqm: {name: step, max_p: 1}}]":                                          "classes[0].aqm.max_p: step has no such parameter",
		"links: {buffer: {alpha: 2}}":                                                                         "links.buffer: reserved and alpha need shared, the memory of a switch, such as 16MB",
		"links: {buffer: {shared: 1MB, alpha: 0}}":                                                            "links.buffer.alpha: 0 is no share of free memory; want more than 0 and at most 64",
		"links: {pfc: {xoff: 10kB, xon: 20kB}}":                                                               "links.pfc.xon: 20kB lies above links.pfc.xoff, 10kB",
		"links: {last_hop_trim: 0.5}":                                                                         "links.last_hop_trim: 0.5; want 1 or more times the threshold of other ports, such as 1.5",
		"generators: [{host: 3, to: 0, every: 1us, count: 1}]\nclasses: [{name: a, dscp: 7, lossless: true}]": "classes: a lossless class needs hosts with the transport alone",
	} {
		_, err := Parse("x.yaml", "", []byte(small+"\n"+text+"\n"), Options{Tables: StandardTables()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// The resolved text of an experiment with classes resolves to the same classes.
func TestClassesRoundTrip(t *testing.T) {
	set, err := Parse("x.yaml", "", []byte(small+`
links: {buffer: {shared: 2MB, alpha: 0.25}, pfc: {xoff: 100kB}, trim_threshold: 90kB, last_hop_trim: 1.5}
measure: {groups: {two: ["1-2"]}}
classes:
  - {name: default, weight: 4, ecn: {enabled: false}}
  - {name: storage, dscp: 26, lossless: true, aqm: {name: red, weight: 1}, match: {groups: [two], src: [1]}}
  - {name: urgent, dscp: 44, strict: true}
`), Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, set, StandardTables())
	storage := set.Base.Classes[1]
	if storage.AQM == nil || storage.AQM.Params["weight"] != "1" || storage.Weight != 1 || set.Base.Classes[0].ECN.Enabled || set.Base.Classes[0].Codepoint() != 10 {
		t.Errorf("storage: %+v", storage)
	}
}
