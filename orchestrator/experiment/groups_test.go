package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const grouped = small + "measure: {groups: {victims: [1-2, \"0-*\"], few_flows: [0..1, 3]}}\n"

func TestGroups(t *testing.T) {
	set := parse(t, grouped)
	want := map[string][]string{"victims": {"1-2", "0-*"}, "few_flows": {"0..1", "3"}}
	if diff := cmp.Diff(want, set.Base.Measure.Groups); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())
	set = parse(t, small, "measure.groups={late: [1-2]}", "measure.from=1us")
	if diff := cmp.Diff(map[string][]string{"late": {"1-2"}}, set.Base.Measure.Groups); diff != "" {
		t.Error("overridden (-want +got)", diff)
	}
	roundTrip(t, set, testTables())
}

// TestWrongGroups has one mistake per entry, as TestWrongInput.
func TestWrongGroups(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"victims:", "all:", `measure.groups.all: the name "all" is taken: all is every transfer, job-0 the transfers of job 0`},
		{"victims:", "job-1:", `measure.groups.job-1: the name "job-1" is taken: all is every transfer, job-0 the transfers of job 0`},
		{"victims:", "Victims:", `measure.groups.Victims: "Victims" is no name of a group; want up to 64 of a-z 0-9 _ and -, the first a letter`},
		{"[1-2, \"0-*\"]", "[]", `measure.groups.victims: the group is empty; want names of flows or patterns, such as ["0-8", "1-*"]`},
		{"\"0-*\"", "\"0-[\"", `measure.groups.victims[1]: "0-[": syntax error in pattern`},
		{"0..1", "3..1", `measure.groups.few_flows[0]: "3..1" is no range of flow numbers; write 1..3`},
		{"[1-2, \"0-*\"]", "1-2", `measure.groups.victims: want a list, got a single value`},
		{"groups:", "group:", `measure.group: unknown key "group" (did you mean "groups"?)`},
	} {
		text := strings.Replace(grouped, c.old, c.new, 1)
		_, err := Parse("x.yaml", "", []byte(text), Options{Tables: testTables()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.new, err, c.want)
		}
	}
}
