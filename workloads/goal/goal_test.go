package goal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/goal"
	"github.com/csiglab/csiglab/workloads/graph"
)

var untagged = graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}

// programs returns the operations of a source, one per line, as "id kind what deps".
func programs(s graph.Source) string {
	var b strings.Builder
	for rank := range s.Ranks() {
		fmt.Fprintf(&b, "rank %d\n", rank)
		p := s.Program(rank, 1)
		var op graph.Op
		for id := 0; p.Next(&op); id++ {
			fmt.Fprintf(&b, "%d %s", id, op.Kind)
			switch op.Kind {
			case graph.Send, graph.Recv:
				fmt.Fprintf(&b, " %d@%d#%d", int64(op.Bytes), op.Peer, op.Channel)
			case graph.Compute:
				fmt.Fprintf(&b, " %v@%d", op.Duration, op.Unit)
			}
			if len(op.Deps) > 0 {
				fmt.Fprintf(&b, " %v", op.Deps)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func read(t *testing.T, text string) (graph.Source, *graph.Loss) {
	t.Helper()
	s, loss, err := goal.Read("x.goal", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	return s, loss
}

// The grammar is that of txt2bin.re of LogGOPSim: items end with the line, tag, cpu and nic
// follow in any number, a label is optional.
func TestGrammar(t *testing.T) {
	s, loss := read(t, `/* a comment
over lines */ num_ranks 3
rank 0 { // comment
 l1: send 1024b to 1 tag 0 ; l2: calc 500
 l3 : recv 8 b from 2 tag 4 cpu 1 nic 0
l2 requires l1
calc 7 cpu 3
}
rank 2 {
	send 8b to 0 tag 4
}
rank 1 { recv 1024b from 0 }
`)
	want := `rank 0
0 send 1024@1#0
1 compute 7ns@3
2 compute 500ns@0 [0]
3 recv 8@2#0
rank 1
0 recv 1024@0#0
rank 2
0 send 8@0#0
`
	if diff := cmp.Diff(programs(s), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if !loss.Empty() {
		t.Errorf("lost: %s", loss)
	}
	var op graph.Op
	if s.Program(0, 1).Next(&op); op.Tag != untagged {
		t.Errorf("tag %+v, want %+v", op.Tag, untagged)
	}
}

// "l3 irequires l2": l3 begins when l2 begins, which is when what l2 requires is complete.
func TestIrequires(t *testing.T) {
	s, loss := read(t, `num_ranks 2
rank 0 {
l1: calc 100
l2: send 10b to 1
l3: calc 5 cpu 1
l4: calc 6 cpu 2
l2 requires l1
l3 irequires l2
l4 irequires l3
}
rank 1 { recv 10b from 0 }
`)
	want := `rank 0
0 compute 100ns@0
1 barrier [0]
2 send 10@1#0 [1]
3 barrier [1]
4 compute 5ns@1 [3]
5 compute 6ns@2 [3]
rank 1
0 recv 10@0#0
`
	if diff := cmp.Diff(programs(s), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if got, want := loss.String(), "1 operations that begin with a calc; they begin when it is ready, though its processor may be busy, the first at x.goal:9:14"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
}

// Messages match by ranks and tag, in the order of the file; what is received in another
// order than it is sent is on another stream, and receives of any rank or tag get what
// others leave.
func TestMatching(t *testing.T) {
	s, loss := read(t, `num_ranks 3
rank 0 {
send 1b to 1 tag 5
send 2b to 1 tag 6
send 3b to 1 tag 5
send 0b to 0 tag 1
recv 0b from 0 tag 1
}
rank 1 {
a: recv 2b from 0 tag 6
b: recv 1b from 0 tag 5
c: recv 9b from -1 tag 5
d: recv 4b from 2 tag -1 nic 1
b requires a
c requires b
}
rank 2 { send 4b to 1 tag 8 }
`)
	want := `rank 0
0 send 1@1#0
1 send 2@1#1
2 send 3@1#0
3 barrier
4 barrier [3]
rank 1
0 recv 2@0#1
1 recv 4@2#0
2 recv 1@0#0 [0]
3 recv 3@0#0 [2]
rank 2
0 send 4@1#0
`
	if diff := cmp.Diff(programs(s), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	wantLoss := `2 receives from any rank or of any tag, matched in the order of the file, the first at x.goal:12:4
1 operations on another NIC than 0; a rank uses the NIC that it is placed on, the first at x.goal:13:26
1 receives of another size than their sends, the first at x.goal:12:4
1 messages of no bytes, sent as one byte, the first at x.goal:6:1
1 messages of a rank to itself, which take no time, the first at x.goal:6:1`
	if diff := cmp.Diff(loss.String(), wantLoss); diff != "" {
		t.Errorf("lost -, want +:\n%s", diff)
	}
}

// A rank that posts its first send after a message that waits for its second one would hang
// if both were on one stream in the order of the file.
func TestOrderAcrossRanks(t *testing.T) {
	s, _ := read(t, `num_ranks 2
rank 0 {
r: recv 1b from 1 tag 1
s: send 1b to 1 tag 2
q: send 1b to 1 tag 3
s requires r
}
rank 1 {
r: recv 1b from 0 tag 3
s: send 1b to 0 tag 1
recv 1b from 0 tag 2
s requires r
}
`)
	want := `rank 0
0 send 1@1#0
1 recv 1@1#0
2 send 1@1#0 [1]
rank 1
0 recv 1@0#0
1 send 1@0#0 [0]
2 recv 1@0#0
`
	if diff := cmp.Diff(programs(s), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

func TestDiagnostics(t *testing.T) {
	in := func(body string) string { return "num_ranks 2\nrank 0 {\n" + body + "\n}\n" }
	for _, c := range []struct{ text, want string }{
		{"", "f.goal:1:1: the file has no num_ranks"},
		{"rank 0 {\n", `f.goal:1:1: unexpected "rank"; a schedule begins with num_ranks`},
		{"num_ranks", "f.goal:1:10: the line ends after num_ranks, want a number"},
		{"num_ranks 1000000000\n", "f.goal:1:11: num_ranks is 1000000000, want 1 to 1048576"},
		{"num_ranks 2\nnum_ranks 2", "f.goal:2:1: num_ranks was set in line 1"},
		{"num_ranks 2\n", "f.goal:1:12: the schedule has no operations"},
		{"num_ranks 2\ncalc 5\n", `f.goal:2:1: unexpected "calc" outside of a rank; use rank <number> {`},
		{"num_ranks 2\nrank 2 {\n", "f.goal:2:6: rank is 2, want 0 to 1"},
		{"num_ranks 2\nrank 0\n{\n", "f.goal:2:7: want { after rank 0"},
		{"num_ranks 2\nrank 0 {\nrank 1 {\n", "f.goal:3:1: rank inside rank 0, whose block begins in line 2"},
		{"num_ranks 2\nrank 0 {\n}\nrank 0 {\n", "f.goal:4:1: rank 0 was given in line 2"},
		{"num_ranks 2\nrank 0 {\ncalc 5\n", "f.goal:3:7: the file ends inside rank 0, whose block begins in line 2"},
		{"num_ranks 2\n/* rank\n", "f.goal:2:1: the comment does not end"},
		{in("calk 5"), "f.goal:3:6: unknown word \"5\"; use requires, irequires or :"},
		{in("5: calc 5"), `f.goal:3:1: unknown word "5"; use send, recv, calc, a label or }`},
		{in("l"), "f.goal:3:2: the line ends after l, want a colon, requires or irequires"},
		{in("l:"), "f.goal:3:2: the line ends after the label l, want send, recv or calc"},
		{in("l: cals 5"), `f.goal:3:4: unknown operation "cals" (did you mean "calc"?)`},
		{in("calc"), "f.goal:3:5: the line ends after calc, want a number"},
		{in("calc -5"), "f.goal:3:6: time is -5, want 0 to 1000000000000000"},
		{in("calc 1000000000000000\ncalc 1"), "f.goal:4:1: the calcs of rank 0 up to here take more than 1000000000000000 ns"},
		{in("calc 5 tag 1"), `f.goal:3:8: unknown word "tag"; use cpu or nic`},
		{in("calc 5 cpu 256"), "f.goal:3:12: cpu is 256, want 0 to 255"},
		{in("calc 5 cpu 1 cpu 1"), "f.goal:3:14: cpu is given twice"},
		{in("send 5 to 1"), `f.goal:3:6: size "5": want bytes, such as 1024b`},
		{in("send"), "f.goal:3:5: the line ends after send, want the size, such as 1024b"},
		{in("send 99999999999999999999b to 1"), "f.goal:3:6: size is 99999999999999999999, want 0 to 1000000000000000000"},
		{in("send 1000000000000000000b to 1\nsend 1b to 1"), "f.goal:4:6: size 1b: the messages up to here carry more than 1000000000000000000 bytes"},
		{in("send 5b from 1"), "f.goal:3:8: want to and a rank after the size of a send"},
		{in("send 5b to 2"), "f.goal:3:12: rank is 2, want 0 to 1"},
		{in("send 5b to -1"), "f.goal:3:12: rank is -1, want 0 to 1"},
		{in("send 5b to 1 tag 4294967295"), "f.goal:3:18: tag is 4294967295, want 0 to 4294967294"},
		{in("l: calc 5\nl: calc 5"), "f.goal:4:1: label l was used in line 3"},
		{in("l: calc 5\nl requires m"), "f.goal:4:12: rank 0 has no label m"},
		{in("l: calc 5\nl requires l"), "f.goal:4:1: l depends on itself"},
		{in("l: calc 5\nl requires"), "f.goal:4:11: the line ends after requires, want a label"},
		{in("l: calc 5\nl requires l l"), `f.goal:4:14: unexpected "l" after the dependency`},
		{in("send 5b to 1 tag 3"), "f.goal:3:1: rank 0 sends a message to rank 1 of tag 3, which is not received"},
		{in("recv 5b from -1 tag -1"), "f.goal:3:1: rank 0 receives a message from any rank of any tag, which is not sent"},
		{in("a: calc 5\nb: calc 5\na requires b\nb requires a"), "f.goal:3:4: rank 0: the operation can never begin: it waits in a circle, for the operation of rank 0 in line 4"},
		{"num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\nrank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n",
			"f.goal:3:4: rank 0: the operation can never begin: it waits in a circle, for the operation of rank 1 in line 9"},
		{"num_ranks 2\nrank 0 {\n" + strings.Repeat("x", 1<<17), "f.goal:3:1: the line is longer than 65536 bytes"},
	} {
		_, _, err := goal.Read("f.goal", strings.NewReader(c.text))
		var e *goal.Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A program is written such that reading it gives the same programs, but for what GOAL has
// no word for.
func TestWrite(t *testing.T) {
	b := graph.Builder{Tag: untagged}
	begin := b.Begin()
	c := b.Compute(1500*units.Picosecond, begin)
	s := b.Send(1, 3, 99, c)
	b.Add(graph.Op{Kind: graph.Compute, Unit: 2, Duration: units.Microsecond, NotBefore: units.Millisecond}, c)
	b.Add(graph.Op{Kind: graph.Send, Peer: 1, Bytes: 7, NotBefore: 3 * units.Millisecond})
	b.End(s)
	other := graph.Builder{Tag: untagged}
	other.Recv(0, 3, 99)
	other.Recv(0, 0, 7)
	source := &graph.Static{Count: 1, All: 2, Of: map[int][]graph.Op{0: b.Ops, 1: other.Ops}}
	var text strings.Builder
	loss, err := goal.Write(&text, source, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := `num_ranks 2

rank 0 {
t0: calc 1000000 cpu 4
t1: calc 2000000 cpu 4
t1 requires t0
l0: calc 0 cpu 3
l1: calc 2 cpu 0
l1 requires l0
l2: send 99b to 1 tag 3
l2 requires l1
l3: calc 1000 cpu 2
l3 requires l1
l3 requires t0
l4: send 7b to 1 tag 0
l4 requires t1
l5: calc 0 cpu 3
l5 requires l2
}

rank 1 {
l0: recv 99b from 0 tag 3
l1: recv 7b from 0 tag 0
}
`
	if diff := cmp.Diff(text.String(), want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if got, want := loss.String(), "2 marks of collectives, phases and steps, written as calcs of no time, the first at rank 0\n1 times rounded to nanoseconds, the first at rank 0"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
	again, _ := read(t, text.String())
	var twice strings.Builder
	if _, err := goal.Write(&twice, again, 1); err != nil {
		t.Fatal(err)
	}
	third, _ := read(t, twice.String())
	if diff := cmp.Diff(programs(third), programs(again)); diff != "" {
		t.Errorf("read, written and read again (got -, want +):\n%s", diff)
	}
}

// Whatever is read without an error can be played and written; every error has a place.
func FuzzRead(f *testing.F) {
	f.Add("num_ranks 2\nrank 0 {\nl1: send 1024b to 1 tag 0 cpu 1 nic 2 ; l2: calc 500 ; l2 requires l1 }\nrank 1 { recv 1b from -1 tag -1 }\n")
	f.Add("num_ranks 2\nrank 0 {\na: calc 1\nb: calc 2 cpu 1\nb irequires a /* c */\n}\n")
	f.Add("num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\nrank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := goal.Read("f.goal", strings.NewReader(text))
		if err != nil {
			var e *goal.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %v has no place", err)
			}
			return
		}
		if s.Ranks() > 1000 {
			return // graph.Check asks for the program of each
		}
		if err := graph.Check(s, 1); err != nil {
			t.Fatal(err)
		}
		var again strings.Builder
		if _, err := goal.Write(&again, s, 1); err != nil {
			return // too many processors
		}
		if _, _, err := goal.Read("f.goal", strings.NewReader(again.String())); err != nil {
			t.Fatalf("written and read again: %v\n%s", err, again.String())
		}
	})
}
