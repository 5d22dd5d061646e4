package circle

import (
	"cmp"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
)

// The vectors are those of docs/reference/references.md#compatible-jobs.
func TestPairOfTwoJobs(t *testing.T) {
	for _, c := range []struct {
		t1, d1, t2, d2 float64
		modulus        units.Duration
		want           []Range // in ms
	}{
		{40, 10, 60, 10, 20, []Range{{10, 10}}}, // 10 or 30 ms behind, modulo 40
		{40, 12, 60, 8, 20, []Range{{12, 12}}},
		{40, 11, 60, 10, 20, nil},
		{255, 114, 255, 114, 255, []Range{{114, 141}}},
		{255, 127.5, 255, 127.5, 255, nil}, // d1+d2 = g, see below
		{255, 128, 255, 128, 255, nil},
		{329, 60, 165, 20, 1, nil},
	} {
		first, second := one(c.t1, c.d1, 0), one(c.t2, c.d2, 0)
		first.Bursts[0].At, second.Bursts[0].At = 0, 0
		got, err := Pair(&first, &second)
		if err != nil {
			t.Fatal(err)
		}
		want := Pairing{Modulus: c.modulus * ms}
		for _, r := range c.want {
			want.Offsets = append(want.Offsets, Range{r.From * ms, r.To * ms})
		}
		if c.d1 == 127.5 { // d1+d2 = g: one offset
			want.Offsets = []Range{{127*ms + ms/2, 127*ms + ms/2}}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("(%v, %v, %v, %v) (-want +got):\n%s", c.t1, c.d1, c.t2, c.d2, diff)
		}
		// The jobs compute first: the bursts end where the periods end.
		first, second = one(c.t1, c.d1, 0), one(c.t2, c.d2, 0)
		if got, _ := Pair(&first, &second); got.Compatible() != (len(want.Offsets) > 0) {
			t.Errorf("(%v, %v, %v, %v), computing first: compatible %v", c.t1, c.d1, c.t2, c.d2, got.Compatible())
		}
	}
}

func TestPairWithAnInvalidProfile(t *testing.T) {
	good, bad := one(40, 10, 0), one(40, 50, 0)
	if _, err := Pair(&good, &bad); err == nil {
		t.Error("no error for a burst that is longer than the period")
	}
}

// random returns a valid profile on a grid of 1 ps: a period up to most, with up to so many
// bursts.
func random(r *rand.Rand, most, bursts int) Profile {
	p := Profile{Period: units.Duration(2 + r.IntN(most-1))}
	at := units.Duration(r.IntN(int(p.Period)))
	for range 1 + r.IntN(bursts) {
		room := int(p.Period - at)
		if room == 0 {
			break
		}
		length := units.Duration(1 + r.IntN(min(room, max(1, most/4))))
		p.Bursts = append(p.Bursts, Burst{At: at, Length: length})
		if at += length + units.Duration(r.IntN(3)); at >= p.Period {
			break
		}
	}
	return p
}

// busy reports whether a job communicates in the step that begins at t, when it starts at 0.
func busy(p *Profile, t units.Duration) bool {
	t = modulo(t, p.Period)
	for _, b := range p.Bursts {
		if t >= b.At && t < b.End() {
			return true
		}
	}
	return false
}

// apart reports whether no two jobs communicate at one time, by looking at every step of the
// unified circle.
func apart(profiles []Profile, starts []units.Duration) bool {
	perimeter, _ := lcm(profiles)
	for t := range perimeter {
		n := 0
		for i := range profiles {
			if busy(&profiles[i], t-starts[i]) {
				n++
			}
		}
		if n > 1 {
			return false
		}
	}
	return true
}

// Among other things: compatible if and only if d1+d2 <= gcd.
func TestPairAgreesWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	yes := 0
	for range 10_000 {
		both := []Profile{random(r, 14, 1+r.IntN(3)), random(r, 14, 1+r.IntN(3))}
		got, err := Pair(&both[0], &both[1])
		if err != nil {
			t.Fatalf("%+v: %v", both, err)
		}
		valid := make([]bool, got.Modulus)
		for _, o := range got.Offsets {
			for v := o.From; v <= o.To; v++ {
				valid[v%got.Modulus] = true
			}
		}
		for s := range both[1].Period {
			if want := apart(both, []units.Duration{0, s}); valid[s%got.Modulus] != want {
				t.Fatalf("%+v: offset %d valid: %v, want %v", both, s, valid[s%got.Modulus], want)
			}
		}
		if len(both[0].Bursts) == 1 && len(both[1].Bursts) == 1 {
			if want := both[0].Bursts[0].Length+both[1].Bursts[0].Length <= got.Modulus; got.Compatible() != want {
				t.Fatalf("%+v: compatible %v, d1+d2 <= gcd is %v", both, got.Compatible(), want)
			}
		}
		if got.Compatible() {
			yes++
		}
	}
	if yes < 1000 || yes > 9000 {
		t.Errorf("%d of 10000 pairs are compatible: too few of one kind", yes)
	}
}

// separated calls separate for jobs of which some pairs share a link; nil: all do. A budget of
// 0 is defaultBudget.
func separated(profiles []Profile, share func(i, j int) bool, budget int) (Answer, []units.Duration, units.Duration) {
	f := newField(profiles)
	if share != nil {
		f.share = share
		for i := range f.places {
			f.places[i] = i
		}
	}
	left := cmp.Or(budget, defaultBudget)
	return separate(f, &left)
}

func TestSeparateAgreesWithBruteForceOnTriples(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	periods := []int{4, 6, 8, 9, 12, 12, 16, 18, 24}
	yes := 0
	for range 10_000 {
		three := make([]Profile, 3)
		for i := range three {
			three[i] = random(r, 6, 1)
			three[i].Period = units.Duration(periods[r.IntN(len(periods))])
			three[i].Bursts = three[i].Bursts[:1]
			three[i].Bursts[0].At = units.Duration(r.IntN(int(three[i].Period)))
			three[i].Bursts[0].Length = min(three[i].Period-three[i].Bursts[0].At, units.Duration(1+r.IntN(5)))
			if last := three[i].Bursts[0].End(); r.IntN(4) == 0 && last+2 <= three[i].Period {
				three[i].Bursts = append(three[i].Bursts, Burst{At: last + 1, Length: 1})
			}
		}
		answer, starts, gap := separated(three, nil, 0)
		want := No
		pairs := [3][3]Pairing{}
		for i := range three {
			for j := range i {
				pairs[j][i], _ = Pair(&three[j], &three[i])
			}
		}
	brute:
		for s1 := range three[1].Period {
			if !pairs[0][1].holds(s1) {
				continue
			}
			for s2 := range three[2].Period {
				if pairs[0][2].holds(s2) && pairs[1][2].holds(s2-s1) {
					want = Yes
					break brute
				}
			}
		}
		if answer != want {
			t.Fatalf("%+v: %v, want %v", three, answer, want)
		}
		if want == Yes {
			yes++
			if !apart(three, starts) || gap < 0 {
				t.Fatalf("%+v: starts %v do not keep the bursts apart", three, starts)
			}
		}
	}
	if yes < 1000 || yes > 9000 {
		t.Errorf("%d of 10000 triples are compatible: too few of one kind", yes)
	}
}

// holds reports whether an offset is valid.
func (p *Pairing) holds(offset units.Duration) bool {
	offset = modulo(offset, p.Modulus)
	for _, r := range p.Offsets {
		if offset >= r.From && offset <= r.To || offset+p.Modulus <= r.To {
			return true
		}
	}
	return false
}

func TestSeparateAgreesWithBruteForceOnFiveJobs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	periods := []int{4, 6, 8, 12, 12}
	count := [3]int{}
	for range 400 {
		jobs := make([]Profile, 5)
		for i := range jobs {
			jobs[i] = Profile{Period: units.Duration(periods[r.IntN(len(periods))]), Bursts: []Burst{{Length: units.Duration(1 + r.IntN(3)/2)}}}
		}
		var meet [5][5]bool // on a graph at random
		for i := range meet {
			for j := range i {
				meet[i][j] = r.IntN(5) > 0
				meet[j][i] = meet[i][j]
			}
		}
		share := func(i, j int) bool { return meet[i][j] }
		answer, starts, _ := separated(jobs, share, 0)
		want := No
		if try(jobs, share, make([]units.Duration, 0, 5)) {
			want = Yes
		}
		count[want]++
		if answer != want {
			t.Fatalf("%+v: %v, want %v", jobs, answer, want)
		}
		for i := range starts {
			for j := range i {
				if p, _ := Pair(&jobs[j], &jobs[i]); share(i, j) && !p.holds(starts[i]-starts[j]) {
					t.Fatalf("%+v: starts %v: jobs %d and %d meet", jobs, starts, j, i)
				}
			}
		}
	}
	if count[Yes] < 40 || count[No] < 40 {
		t.Errorf("%d yes and %d no: too few of one kind", count[Yes], count[No])
	}
}

// try looks at every start of every job.
func try(jobs []Profile, share func(i, j int) bool, starts []units.Duration) bool {
	i := len(starts)
	if i == len(jobs) {
		return true
	}
next:
	for s := range jobs[i].Period {
		for j := range i {
			if p, _ := Pair(&jobs[j], &jobs[i]); share(i, j) && !p.holds(s-starts[j]) {
				continue next
			}
		}
		if try(jobs, share, append(starts, s)) {
			return true
		}
	}
	return false
}

func TestSeparateMakesTheGapEqual(t *testing.T) {
	answer, starts, gap := separated([]Profile{one(255, 114, 0), one(255, 114, 0)}, nil, 0)
	want := []units.Duration{0, 127*ms + ms/2}
	if diff := gocmp.Diff(want, starts); answer != Yes || diff != "" || gap != 13*ms+ms/2 {
		t.Errorf("%v, gap %v, starts (-want +got):\n%s", answer, gap, diff)
	}
}

func TestSeparateSaysThatItDoesNotKnow(t *testing.T) {
	var jobs []Profile
	for _, period := range []float64{60, 84, 90, 105, 140, 126, 70, 210} {
		jobs = append(jobs, one(period, 2.9, 0))
	}
	if answer, starts, _ := separated(jobs, nil, 10); answer != NotKnown || starts != nil {
		t.Errorf("%v with %v, want not known and no starts", answer, starts)
	}
}
