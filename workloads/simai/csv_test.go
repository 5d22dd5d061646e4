package simai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/simai"
)

const heading = "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"

// staged has a section per stage of a pipeline, as AICB writes them.
const staged = `[ pp_stage0: [rank0, rank1] ]
` + heading + `CommType.all_reduce,CommGroup.pp_group,2,8,init.model_setup,None,None,,None,None,None,1
CommType.epoch_end,None,None,0,,None,None,,None,None,None,1
CommType.all_reduce,CommGroup.tp_group,2,64,forward.A,None,None,,None,None,None,2
CommType.isend,CommGroup.pp_group,1,100,forward_step,None,None,send_next,None,None,None,1
CommType.irecv,CommGroup.pp_group,1,100,backward_step,None,None,recv_next,None,None,None,1
CommType.broadcast,CommGroup.tp_group,2,40,step,None,1,,None,None,None,1
CommType.computation,None,None,0,step,None,None,,12,None,None,1
[ pp_stage1: [rank2, rank3] ]
` + heading + `CommType.all_reduce,CommGroup.pp_group,2,8,init.model_setup,None,None,,None,None,None,1
CommType.irecv,CommGroup.pp_group,1,100,forward_step,None,None,recv_prev,None,None,None,1
CommType.isend,CommGroup.pp_group,1,100,backward_step,None,None,send_prev,0.5,None,None,1
`

func TestStages(t *testing.T) {
	s, loss, err := simai.ReadCSV("s.csv", strings.NewReader(staged), simai.Options{TimeUnit: units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	if want := (simai.Layout{TP: 2, DP: 1, PP: 2, EP: 1}); s.Layout != want {
		t.Errorf("layout %+v, want %+v", s.Layout, want)
	}
	for rank, want := range map[int]string{
		0: "all_reduce pp init.model_setup all_reduce tp forward.A all_reduce tp forward.A send:2 recv:2 broadcast tp step 12us",
		3: "all_reduce pp init.model_setup recv:1 send:1",
	} {
		if got := words(s, rank); got != want {
			t.Errorf("rank %d: %s\nwant %s", rank, got, want)
		}
	}
	if diff := cmp.Diff(s.Names.Phases, []string{"init", "forward", "backward", "step"}); diff != "" {
		t.Errorf("phases: %s", diff)
	}
	if got := loss.String(); got != "1 measured times, as a run has times of its own, the first at s.csv:14:75" {
		t.Errorf("lost %q", got)
	}
	if _, loss, err = simai.ReadCSV("s.csv", strings.NewReader(staged), simai.Options{}); err != nil || !strings.Contains(loss.String(), "1 computations whose time, or its unit, the file does not say, the first at s.csv:9:1") {
		t.Errorf("without unit: lost %v, %v", loss, err)
	}
}

func TestCSVDiagnostics(t *testing.T) {
	row := func(rows ...string) string { return heading + strings.Join(rows, "\n") + "\n" }
	stages := func(first, second string) string {
		return "[ pp_stage0: [rank0] ]\n" + heading + first + "\n[ pp_stage1: [rank1] ]\n" + heading + second + "\n"
	}
	const (
		send = "isend,pp_group,1,100,s,None,None,send_next,,,,1"
		recv = "irecv,pp_group,1,100,s,None,None,recv_prev,,,,1"
		back = "isend,pp_group,1,100,s,None,None,send_prev,,,,1"
		next = "irecv,pp_group,1,100,s,None,None,recv_next,,,,1"
		all  = "all_reduce,pp_group,2,8,s,None,None,,,,,1"
	)
	for _, c := range []struct{ text, want string }{
		{"", "f.csv:1:1: the file is empty"},
		{"all_reduce,tp_group,2,8,s\n", "f.csv:1:1: want the names of the columns, which begin with comm_type"},
		{"comm_type,comm_group\n", "f.csv:1:21: there is no column msg_size"},
		{"comm_type,comm_type\n", "f.csv:1:11: column comm_type is given twice"},
		{"[ stage ]\n", "f.csv:1:1: the line names no ranks, such as [rank0 ~ rank7]"},
		{"[rank0 ~ rank1000000000]\n", "f.csv:1:14: rank is 1000000000, want 0 to 1048575"},
		{"[rank1 ~ rank2]\n", "f.csv:1:1: the stage has the ranks from 1 to 2; want the next from 0 on"},
		{"[rank0, rank2]\n", "f.csv:1:1: the ranks of a stage are not consecutive: rank 2 follows rank 0"},
		{"[rank0 ~ rank1]\n[rank2]\n", "f.csv:2:1: the stage has 1 ranks, the one in line 1 has 2"},
		{row("all_reduce,tp_group,2"), "f.csv:2:22: the row ends after 3 fields"},
		{row("all_reduse,tp_group,2,8,s"), `f.csv:2:1: unknown communication "all_reduse" (did you mean "all_reduce"?)`},
		{row("all_reduce,tp_grp,2,8,s"), `f.csv:2:12: unknown group "tp_grp" (did you mean "tp_group"?)`},
		{row("all_reduce,tp_group,0,8,s"), "f.csv:2:21: comm_group_size is 0, want 1 to 1048576"},
		{row("all_reduce,tp_group,2,-8,s"), "f.csv:2:23: msg_size is -8, want 0 to 1000000000000000000"},
		{row("all_reduce,tp_group,2,8,s", "all_reduce,tp_group,4,8,s"), "f.csv:3:21: a group tp_group of 4 ranks; the one in line 2 has 2"},
		{row("all_reduce,tp_group,2,8,s,,,,,,,9999999"), "f.csv:2:33: count is 9999999, want 1 to 1048576"},
		{row("all_reduce,tp_group,2,1000000000000000000,s,,,,,,,2"), "f.csv:2:1: the rows up to here carry more than 1000000000000000000 bytes"},
		{row("broadcast,tp_group,2,8,s,None,2"), "f.csv:2:31: src is 2, want 0 to 1"},
		{row(`all_reduce,"tp_group,2,8,s`), `f.csv:2:27: extraneous or missing " in quoted-field`},
		{"[rank0 ~ rank2]\n" + row("all_reduce,tp_group,2,8,s"), "f.csv:1:1: 3 ranks are not tensor parallelism 2 times data parallelism 1"},
		{row(send), "f.csv:2:1: stage 0 has a message with stage 1; stages go from 0 to 0"},
		{row(back), "f.csv:2:34: the first stage has none in front of it"},
		{row("isend,pp_group,1,100,s,None,None,sideways"), `f.csv:2:34: unknown direction "sideways"; use send_next or send_prev`},
		{stages(send, ""), "f.csv:3:1: stage 0 sends a message that is not received"},
		{stages("", recv), "f.csv:6:1: stage 1 waits for ever: another stage does not come to its part"},
		{stages(send, strings.Replace(recv, "100", "99", 1)), "f.csv:6:1: stage 1 receives 99 bytes of the 100 that stage 0 sends in line 3"},
		{stages(next+"\n"+strings.Replace(send, ",s,", ",t,", 1), recv+"\n"+strings.Replace(back, ",s,", ",t,", 1)), "f.csv:3:1: stage 0 waits for ever: another stage does not come to its part"},
		{stages(all, ""), "f.csv:3:1: stage 0 waits for ever: another stage does not come to its part"},
		{stages(all, strings.Replace(all, ",8,", ",9,", 1)), "f.csv:3:1: stage 0 waits for ever: another stage does not come to its part"},
	} {
		_, _, err := simai.ReadCSV("f.csv", strings.NewReader(c.text), simai.Options{})
		var e *simai.Error
		if !errors.As(err, &e) || fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// FuzzReadCSV holds that whatever is read can be played; every error has a place.
func FuzzReadCSV(f *testing.F) {
	f.Add(staged)
	f.Add("[rank0 ~ rank3]\n" + heading + "all_gather,dp_group,2,9,init.model_setup,None,None,,None,None,None,1\nall_to_all,ep_group,2,9,step,None,None,,None,None,None,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := simai.ReadCSV("f.csv", strings.NewReader(text), simai.Options{Passes: 2, TimeUnit: units.Millisecond})
		playable(t, s, err)
	})
}
