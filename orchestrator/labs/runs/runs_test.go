package runs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// TestMain makes the program a holder if it is called as one: it registers the lab
// of the given id, says so, waits to be asked, and does as told.
func TestMain(m *testing.M) {
	did := func(do func()) func([]string) int { return func([]string) int { do(); return 0 } }
	os.Exit(checkout.Main(m, map[string]func([]string) int{
		"damage": did(damageReport), "register": did(register), "foreign": did(cleanForeign),
		"hold": func(args []string) int {
			if err := hold(args[0], args[1]); err != nil {
				fmt.Println(err)
				return 1
			}
			return 0
		},
		"inside": func(args []string) int { inside(args[0]); return 0 },
		"list": func([]string) int {
			list, err := runs.List(context.Background())
			fmt.Println(len(list), err)
			return 0
		},
	}))
}

func hold(id, how string) error {
	run := runs.Run{ID: id, Name: "test", Runtime: "none", Folder: "/nowhere", Held: true, Clock: "wall", Dilation: 20}
	e, err := runs.Register(run)
	if err != nil {
		return err
	}
	g := &topologies.Graph{Nodes: []topologies.Node{{Name: "h0"}, {Name: "tor0", Kind: topologies.Switch}}}
	g.Connect(0, 1, 10*units.Gbps, units.Microsecond)
	if err := e.Describe(runs.Describe(g, func(e topologies.End) string { return fmt.Sprint("p", e.Port) }, make([]bool, len(g.Links)))); err != nil {
		return err
	}
	if how == "comes up" {
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		fmt.Println("held")
		<-end
	}
	h, err := runs.Hold(id)
	if err != nil {
		return err
	}
	fmt.Println("held")
	<-h.Asked()
	switch how {
	case "writes":
		h.Doing("half is written")
		time.Sleep(5 * time.Second)
	case "dies":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "fails":
		list, err := runs.List(context.Background())
		if err != nil {
			return err
		}
		r, err := runs.Find(list, id)
		if err != nil {
			return err
		}
		if err := runs.Fail(r, runs.Report{Code: 3, Errors: "a node died\n"}); err != nil {
			return err
		}
		return h.Close(runs.Report{Code: 3})
	}
	if err := e.Remove(); err != nil {
		return err
	}
	return h.Close(runs.Report{Code: 1, Output: "the verdict\n", Errors: "a note\n"})
}

// process is one that holds a lab.
type process struct {
	*os.Process
	ended chan struct{}
	err   error // after ended
}

func (p *process) kill() {
	p.Kill()
	<-p.ended
}

// holder starts a process that holds a lab, and returns it and the lab's id.
func holder(t *testing.T, how string) (*process, string) {
	t.Helper()
	id := fmt.Sprintf("%x%x", os.Getpid(), time.Now().UnixNano())
	cmd := exec.Command("/proc/self/exe", "hold", id, how)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Process: cmd.Process, ended: make(chan struct{})}
	said, _ := bufio.NewReader(out).ReadString('\n')
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if _, err := runs.Clean(context.Background(), id, false); err != nil {
			t.Error(err)
		}
	})
	if said != "held\n" {
		t.Fatalf("the holder says %q", said)
	}
	return p, id
}

// left is a Backend that knows what is left of some runs.
type left struct {
	of      map[string]int // by id
	unknown []runs.Run     // to the list
}

func (l *left) Find(_ context.Context, list []runs.Run) ([]runs.Run, error) {
	for i := range list {
		list[i].Containers = l.of[list[i].ID]
	}
	return append(list, l.unknown...), nil
}

func (l *left) Remove(_ context.Context, r runs.Run) ([]string, error) {
	if l.of[r.ID] == 0 {
		return nil, nil
	}
	l.of[r.ID], l.unknown = 0, nil
	return []string{"something of " + r.ID}, nil
}

func find(t *testing.T, id string, backends ...runs.Finder) runs.Run {
	t.Helper()
	list, err := runs.List(t.Context(), backends...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runs.Find(list, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A lab is listed while its holder lives and after, and cleaned only after.
func TestListAndClean(t *testing.T) {
	p, id := holder(t, "")
	l := &left{of: map[string]int{id: 3}}
	r := find(t, id, l)
	if r.State != runs.Held || r.PID != p.Pid || r.Containers != 3 || r.Name != "test" || len(r.Nodes) != 2 || len(r.Links) != 1 || time.Since(r.Started) > time.Hour {
		t.Errorf("listed as %+v", r)
	}
	want := runs.Node{
		Name: "h0", Kind: "host", Addresses: []string{"10.0.0.1"},
		Interfaces: []runs.Interface{{Name: "p0", MAC: "02:00:00:00:00:00", Link: "h0-tor0", Peer: "tor0", PeerInterface: "p0", RateBPS: 1e10}},
	}
	if diff := cmp.Diff(r.Nodes[0], want); diff != "" {
		t.Errorf("h0 (-got +want):\n%s", diff)
	}
	if removed, err := runs.Clean(t.Context(), id, false, l); err == nil || len(removed) > 0 || l.of[id] != 3 {
		t.Errorf("Clean of a lab that is held removed %q, error %v", removed, err)
	}
	p.kill()
	if r = find(t, id, l); r.State != runs.Dead {
		t.Errorf("after its holder's death it is %s", r.State)
	}
	for i, want := range [][]string{{"something of " + id, "the entry of run " + id}, nil} {
		removed, err := runs.Clean(t.Context(), id, false, l)
		if diff := cmp.Diff(removed, want); diff != "" || err != nil {
			t.Errorf("Clean %d: %v (-got +want):\n%s", i+1, err, diff)
		}
	}
}

// What csiglab exec has started in a node ends with the run, if it is no lab too.
func TestRemoveKills(t *testing.T) {
	const id = "0abc"
	e, err := runs.Register(runs.Run{ID: id, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sleep", "60")
	command.Env = append(os.Environ(), runs.EnvironmentRun+"="+id)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if err := e.Remove(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
		command.Process.Kill()
	}
	list, err := runs.List(t.Context())
	if err != nil || slices.ContainsFunc(list, func(r runs.Run) bool { return r.ID == id }) {
		t.Errorf("listed: %v, %v", list, err)
	}
}

// userFolder returns a fresh folder that all users may write, and a user without
// privileges.
func userFolder(t *testing.T) (dir string, user int, attr *syscall.SysProcAttr) {
	t.Helper()
	const nobody = 65534
	user, attr = os.Geteuid(), new(syscall.SysProcAttr)
	if user == 0 {
		user = nobody
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	dir, err := os.MkdirTemp("", "lab") // not t.TempDir, whose folders are one user's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir, user, attr
}

// A list below /tmp is believed only if it is the user's own.
func TestListOfAnother(t *testing.T) {
	dir, user, attr := userFolder(t)
	list := filepath.Join(dir, fmt.Sprintf("csiglab-%d", user))
	for _, test := range []struct {
		name string
		make func() error
		want string
	}{
		{"none", func() error { return nil }, "0 <nil>\n"},
		{"open to all", func() error {
			return errors.Join(os.Mkdir(list, 0o700), os.Chown(list, user, -1), os.Chmod(list, 0o777))
		}, "0 list runs: " + list + " is not a folder that is this user's alone\n"},
		{"the user's", func() error { return os.Chmod(list, 0o700) }, "0 <nil>\n"},
		{"a link", func() error {
			return errors.Join(os.Rename(list, list+"-real"), os.Symlink(list+"-real", list))
		}, "0 list runs: " + list + " is not a folder that is this user's alone\n"},
	} {
		if err := test.make(); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		cmd := exec.Command("/proc/self/exe", "list")
		cmd.Env, cmd.SysProcAttr = []string{"TMPDIR=" + dir}, attr
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, out, err, test.want)
		}
	}
}

// A lab that comes up is not held yet.
func TestComesUp(t *testing.T) {
	_, id := holder(t, "comes up")
	if r := find(t, id); r.State != runs.Running {
		t.Errorf("it is %s, want %s", r.State, runs.Running)
	}
}

// With all, the holder is ended first.
func TestCleanEndsTheHolder(t *testing.T) {
	p, id := holder(t, "")
	removed, err := runs.Clean(t.Context(), id, true)
	if want := []string{"run " + id + ", which was under way", "the entry of run " + id}; err != nil || !cmp.Equal(removed, want) {
		t.Errorf("Clean: %q, %v, want %q", removed, err, want)
	}
	if <-p.ended; p.err == nil || !strings.Contains(p.err.Error(), "terminated") {
		t.Errorf("the holder ended with %v, want SIGTERM", p.err)
	}
}

// What only a backend knows of is dead and can be cleaned.
func TestCleanWithoutAnEntry(t *testing.T) {
	l := &left{of: map[string]int{"0ff": 2}, unknown: []runs.Run{{ID: "0ff", Name: "lost"}}}
	if r := find(t, "0ff", l); r.State != runs.Dead {
		t.Errorf("it is %s", r.State)
	}
	removed, err := runs.Clean(t.Context(), "0ff", false, l)
	if want := []string{"something of 0ff"}; err != nil || !cmp.Equal(removed, want) {
		t.Errorf("Clean: %q, %v, want %q", removed, err, want)
	}
}

func TestDown(t *testing.T) {
	t.Run("in order", func(t *testing.T) {
		_, id := holder(t, "")
		got, err := runs.Down(t.Context(), find(t, id), nil)
		if want := (runs.Report{Code: 1, Output: "the verdict\n", Errors: "a note\n"}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
	t.Run("in order, after a while", func(t *testing.T) {
		_, id := holder(t, "writes")
		var said []string
		got, err := runs.Down(t.Context(), find(t, id), func(text string) { said = append(said, text) })
		if want := (runs.Report{Code: 1, Output: "the verdict\n", Errors: "a note\n"}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if len(said) != 1 || !strings.HasSuffix(said[0], "to write its results: half is written") {
			t.Errorf("said %q", said)
		}
	})
	t.Run("the holder dies", func(t *testing.T) {
		_, id := holder(t, "dies")
		if _, err := runs.Down(t.Context(), find(t, id), nil); !errors.Is(err, runs.ErrHolderDied) {
			t.Errorf("error %v, want ErrHolderDied", err)
		}
	})
	t.Run("the holder is dead", func(t *testing.T) {
		p, id := holder(t, "")
		r := find(t, id)
		p.kill()
		if _, err := runs.Down(t.Context(), r, nil); !errors.Is(err, runs.ErrHolderDied) {
			t.Errorf("error %v, want ErrHolderDied", err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		p, id := holder(t, "")
		r := find(t, id)
		p.Signal(syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := runs.Down(ctx, r, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
	t.Run("it had ended by itself", func(t *testing.T) {
		p, id := holder(t, "fails")
		if _, err := runs.Down(t.Context(), find(t, id), nil); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		r := find(t, id)
		if want := (runs.Report{Code: 3, Errors: "a node died\n"}); r.State != runs.Dead || r.End == nil || *r.End != want {
			t.Errorf("listed as %+v with end %+v, want %+v", r, r.End, want)
		}
	})
}

// Runs are listed in the order in which they were started, also those of one second, whatever their
// ids are.
func TestOrderWithinASecond(t *testing.T) {
	t.Setenv(runs.EnvironmentList, t.TempDir())
	ids := []string{"c0ffee", "a", "b0", "0d"}
	for _, id := range ids {
		e, err := runs.Register(runs.Run{ID: id, Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Remove() //nolint:errcheck // the folder goes with the test
	}
	list, err := runs.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.ID)
	}
	if diff := cmp.Diff(got, ids); diff != "" {
		t.Errorf("runs (-got +want):\n%s", diff)
	}
	if _, err := runs.Find(list, "x"); err == nil || !strings.Contains(err.Error(), "such as 0d for the one that was started last:") {
		t.Errorf("got %v, want the one that was started last", err)
	}
}

func TestFind(t *testing.T) {
	list := []runs.Run{
		{ID: "a1b2", Name: "x", State: runs.Held}, {ID: "a1c3", Name: "y", State: runs.Running}, {ID: "d4", Name: "y", State: runs.Dead},
		{ID: "e5", Name: "z", State: runs.Dead}, {ID: "e6", Name: "z", State: runs.Dead}, {ID: "x", Name: "a1b2", State: runs.Held},
	}
	for _, c := range []struct{ text, want, err string }{
		{"a1b2", "a1b2", ""}, // an id before a name
		{"x", "x", ""},
		{"a1b", "a1b2", ""},
		{"a1c", "a1c3", ""},
		{"d", "d4", ""},
		{"y", "a1c3", ""}, // the one that lives
		{"a1", "", `run "a1": there are 2 of them; write an id in its place, such as a1c3 for the one that was started last:`},
		{"z", "", `run "z": there are 2 of them; write an id in its place, such as e6 for the one that was started last:`},
		{"e5x", "", `run "e5x": there is no such run (did you mean "e5"?); known: a1b2 x a1c3 y d4 y e5 z e6 z x a1b2`},
		{"", "", `run "": there is no such run; known: `},
	} {
		r, err := runs.Find(list, c.text)
		if r.ID != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%q: got %q, %v; want %q, %s", c.text, r.ID, err, c.want, c.err)
		}
	}
	// Times have as many digits as it takes to tell the runs apart.
	began := time.Date(2026, 5, 1, 10, 0, 0, 250_000_000, time.Local)
	for i, more := range []time.Duration{0, time.Second, time.Second, 100 * time.Millisecond} {
		list[i].Started = began.Add(more)
	}
	want := []string{"2026-05-01 10:00:00.250000", "2026-05-01 10:00:01.250000", "2026-05-01 10:00:01.250000", "2026-05-01 10:00:00.350000"}
	if diff := cmp.Diff(runs.StartTimes(list[:4]), want); diff != "" {
		t.Errorf("started (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(runs.StartTimes(list[:2]), []string{"2026-05-01 10:00:00", "2026-05-01 10:00:01"}); diff != "" {
		t.Errorf("started (-got +want):\n%s", diff)
	}
	if _, err := runs.Find(nil, "a"); err == nil || err.Error() != `run "a": there is none under way; csiglab up EXPERIMENT starts a lab` {
		t.Errorf("without runs: %v", err)
	}
}

func TestNode(t *testing.T) {
	r := runs.Run{ID: "a", Nodes: []runs.Node{{Name: "h0", Addresses: []string{"10.0.0.1", "fd00:c51c::1"}}, {Name: "h1", Addresses: []string{"10.0.0.2"}}, {Name: "tor0"}}}
	for text, want := range map[string]string{"h1": "h1", "tor0": "tor0", "10.0.0.2": "h1", "fd00:c51c:0::1": "h0", "::ffff:10.0.0.1": "h0"} {
		if n, err := r.Node(text); err != nil || n.Name != want {
			t.Errorf("%s: got %s, %v, want %s", text, n.Name, err, want)
		}
	}
	for text, want := range map[string]string{
		"H1":       `node "H1": there is no such node (did you mean "h1"?); known: h0 h1 tor0`,
		"10.0.0.9": `node "10.0.0.9": there is no such node (did you mean "10.0.0.1"?); known: 10.0.0.1 fd00:c51c::1 10.0.0.2`,
	} {
		if _, err := r.Node(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := (&runs.Run{ID: "a"}).Node("h0"); err == nil {
		t.Error("a run without nodes has one")
	}
}

// A link of a run is found as one of its graph is.
func TestLinkName(t *testing.T) {
	r := runs.Run{
		Links: []runs.Link{{Name: "h0-tor0", Nodes: [2]string{"h0", "tor0"}}, {Name: "tor0:1-agg0", Nodes: [2]string{"tor0", "agg0"}}},
		Nodes: []runs.Node{
			{Name: "h0", Interfaces: []runs.Interface{{Name: "eth1", Link: "h0-tor0"}, {Name: "csig0"}}},
			{Name: "tor0", Interfaces: []runs.Interface{{Name: "p0", Link: "h0-tor0"}, {Name: "p1", Link: "tor0:1-agg0"}}},
		},
	}
	for text, want := range map[string]string{
		"h0-tor0": "h0-tor0", "tor0-h0": "h0-tor0", "h0:eth1": "h0-tor0", "h0:p0": "h0-tor0", "tor0:p1": "tor0:1-agg0", "agg0-tor0:1": "tor0:1-agg0",
		"h0:csig0": "h0:csig0", "tor0-agg0": "tor0-agg0", "": "",
	} {
		if got := r.LinkName(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
