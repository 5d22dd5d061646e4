// Package phases finds the communication phases of a program that repeats itself, in the
// rate at which it sends: the period by autocorrelation, the bursts by a threshold with
// hysteresis. It is arithmetic on a series of numbers. It knows no job, so that it works for
// programs whose steps nobody records.
package phases

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
)

// Errors of Find.
var (
	ErrIdle      = errors.New("nothing was sent")
	ErrShort     = errors.New("the series has fewer than three periods")
	ErrAperiodic = errors.New("the series does not repeat itself")
)

// Pattern is what a series repeats. Times are in windows of the series.
type Pattern struct {
	Period Value // the mean over the iterations
	// Lag is where the autocorrelation of the series has its first high peak, or a fraction of
	// that where the iterations are made up of parts that are alike. Correlation is how high
	// the peak is (1: all iterations are alike), and Width half of its width at half of its
	// height.
	Lag, Correlation, Width float64

	Begins []float64 // of the first bursts of the iterations, ascending
	Alike  int       // iterations that have as many bursts as Bursts; the others do not count there
	Bursts []Burst
}

// Burst is a time of an iteration in which it sends.
type Burst struct {
	At     Value // since the end of the last burst of the iteration before; the last one ends with the period
	Length Value // of a burst shorter than three windows: what it sends, divided by the usual rate
	Rate   Value // the mean over its time, in the unit of the series
}

// Value is a mean with how well it is known: the interval from Mean - 2 Error to
// Mean + 2 Error has the true mean in 95 of 100 cases. With many samples Error is the standard
// error; with few it is larger, by the quantiles of Student's t distribution. NaN is not known,
// such as the error of a single sample.
type Value struct{ Mean, Error float64 }

const (
	// A burst begins when the rate exceeds upper, and ends when it falls below lower, both
	// as shares of the usual rate of a burst.
	upper, lower = 0.5, 0.15
	// gap is the share of the period below which a time without sending is part of a burst,
	// such as that between two messages.
	gap = 0.02
	// An autocorrelation below aperiodic is no repetition. A peak of fundamental times the
	// highest one, at a shorter lag, is that of the period; the others are its multiples.
	aperiodic, fundamental = 0.3, 0.8
	fewest                 = 3 // periods
	// alike is by which share of a period its parts may differ for it to be several periods.
	alike = 0.1
	// resolution is how well the edge of a burst is known at best, in windows. A burst of fewer
	// than whole windows may have no window that it fills: its edges are known to coarse.
	resolution, coarse = 0.1, 0.5
	whole              = 3
	// MaxWindows is the longest series whose autocorrelation is computed as it is. Of a
	// longer one windows are joined for that.
	MaxWindows = 1 << 20
)

// Find returns the pattern of a series of rates, window by window. The error wraps ErrIdle,
// ErrShort or ErrAperiodic.
func Find(rates []float64) (*Pattern, error) {
	if !slices.ContainsFunc(rates, func(r float64) bool { return r > 0 }) {
		return nil, ErrIdle
	}
	bursts := find(rates, 0)
	if len(bursts) < fewest {
		return nil, fmt.Errorf("%w: bursts in it: %d", ErrShort, len(bursts))
	}
	// What is before the first burst and behind the last one is no part of the pattern.
	p := &Pattern{}
	if err := p.correlate(rates[bursts[0].first:bursts[len(bursts)-1].last]); err != nil {
		return nil, err
	}
	if err := p.fold(find(rates, p.Lag)); err != nil {
		return nil, err
	}
	for parts := p.parts(); parts > 1; parts = p.parts() {
		one := &Pattern{Lag: p.Lag / float64(parts), Correlation: p.Correlation, Width: p.Width}
		if err := one.fold(find(rates, one.Lag)); err != nil || len(one.Bursts) >= len(p.Bursts) {
			break
		}
		p = one
	}
	return p, nil
}

// parts returns of how many periods that are alike the pattern is made up: the peak of a
// period may be low by chance, and that of a multiple high.
func (p *Pattern) parts() int {
	for parts := len(p.Bursts); parts > 1; parts-- {
		each := len(p.Bursts) / parts // bursts
		part := p.Period.Mean / float64(parts)
		same := func(a, b Value, apart float64) bool {
			return math.Abs(b.Mean-a.Mean-apart) <= min(2*math.Hypot(a.Error, b.Error), alike*part)
		}
		all := each*parts == len(p.Bursts)
		for k := 0; all && k+each < len(p.Bursts); k++ {
			a, b := &p.Bursts[k], &p.Bursts[k+each]
			all = same(a.At, b.At, part) && same(a.Length, b.Length, 0)
		}
		if all {
			return parts
		}
	}
	return 1
}

// correlate finds the period by autocorrelation.
func (p *Pattern) correlate(rates []float64) error {
	joined := (len(rates)-1)/MaxWindows + 1
	series := make([]float64, (len(rates)+joined-1)/joined)
	for i, r := range rates {
		series[i/joined] += r / float64(joined)
	}
	smooth(series)
	c := autocorrelation(series)
	// Behind the peak at 0, which is as wide as the bursts.
	low := 1
	for low < len(c) && c[low] > 0 {
		low++
	}
	// A lag of half of the series compares two periods of a series of four; the third burst
	// of a series that ends with it is beyond two thirds.
	most := min(len(c)-1, len(c)*2/3+2)
	top := func(lag int) bool { return c[lag] >= c[lag-1] && c[lag] >= c[lag+1] }
	highest := 0.0
	for lag := low; lag < most; lag++ {
		if top(lag) {
			highest = max(highest, c[lag])
		}
	}
	if highest <= 0 {
		return fmt.Errorf("%w: it is %d windows long", ErrShort, len(rates))
	}
	peak := low
	for !top(peak) || c[peak] < fundamental*highest {
		peak++
	}
	// Sums over fewer products are smaller.
	p.Correlation = min(1, c[peak]*float64(len(c))/float64(len(c)-peak))
	if p.Correlation < aperiodic {
		return fmt.Errorf("%w: its autocorrelation is %.2f at most", ErrAperiodic, p.Correlation)
	}
	p.Lag = float64(peak)
	if bend := c[peak-1] - 2*c[peak] + c[peak+1]; bend < 0 { // the top of the parabola through three points
		p.Lag += (c[peak-1] - c[peak+1]) / (2 * bend)
	}
	for p.Width = 0; peak-int(p.Width) > 0 && c[peak-int(p.Width)] > c[peak]/2; {
		p.Width++
	}
	p.Lag, p.Width = p.Lag*float64(joined), p.Width*float64(joined)
	return nil
}

// smooth takes the mean of each value with its neighbours. Without it short bursts are alike
// only where they lie alike in their windows, which may be in every second iteration.
func smooth(series []float64) {
	before := series[0]
	for i, v := range series {
		after := series[min(i+1, len(series)-1)]
		series[i] = (before + 2*v + after) / 4
		before = v
	}
}

// autocorrelation returns the correlation of a series with itself, by lag; 1 at lag 0. Sums
// over fewer products are not scaled up: at long lags that would lift noise, and the
// multiples of a period, above the peak of the period itself.
func autocorrelation(series []float64) []float64 {
	n := len(series)
	mean := 0.0
	for _, v := range series {
		mean += v / float64(n)
	}
	size := 1
	for size < 2*n {
		size *= 2
	}
	f := make([]complex128, size)
	for i, v := range series {
		f[i] = complex(v-mean, 0)
	}
	transform(f)
	for i, v := range f {
		f[i] = complex(real(v)*real(v)+imag(v)*imag(v), 0)
	}
	transform(f) // of an even function: the inverse but for the scale
	c := make([]float64, n)
	if all := real(f[0]); all > 0 {
		for lag := range c {
			c[lag] = real(f[lag]) / all
		}
	}
	return c
}

// transform is the Fourier transform in place, of a length that is a power of two.
func transform(f []complex128) {
	n := len(f)
	for i, j := 1, 0; i < n; i++ {
		bit := n >> 1
		for ; j&bit != 0; bit >>= 1 {
			j ^= bit
		}
		if j ^= bit; i < j {
			f[i], f[j] = f[j], f[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		roots := make([]complex128, size/2)
		for k := range roots {
			roots[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(size))
		}
		for from := 0; from < n; from += size {
			for k, root := range roots {
				a, b := f[from+k], f[from+k+size/2]*root
				f[from+k], f[from+k+size/2] = a+b, a-b
			}
		}
	}
}

// burst is one burst of the series.
type burst struct {
	first, last   int // windows, from first to before last
	from, to, sum float64
}

// short reports whether a burst may have no window that it fills.
func (b *burst) short() bool { return b.last-b.first < whole }

// find returns the bursts of a series, ascending.
func find(rates []float64, period float64) (all []burst) {
	usual := usualRate(rates)
	in := -1 // the first window at which the rate is at least lower
	high := false
	end := func(to int) {
		if in >= 0 && high {
			b := edges(rates, in, to, usual)
			if n := len(all); n > 0 && b.from-all[n-1].to < max(gap*period, 1.5) {
				all[n-1] = edges(rates, all[n-1].first, to, usual)
			} else {
				all = append(all, b)
			}
		}
		in, high = -1, false
	}
	for i, r := range rates {
		if r < lower*usual {
			end(i)
			continue
		}
		if in < 0 {
			in = i
		}
		high = high || r >= upper*usual
	}
	end(len(rates))
	return all
}

// usualRate returns the rate of windows in bursts: the median over those that send at least
// a quarter of the greatest rate.
func usualRate(rates []float64) float64 {
	greatest := slices.Max(rates)
	var high []float64
	for _, r := range rates {
		if r >= greatest/4 {
			high = append(high, r)
		}
	}
	slices.Sort(high)
	return high[len(high)/2]
}

// edges returns the burst in the windows from one to before another. The first and the last
// window are in it for as long as their neighbours inside would need for what they sent. A
// short burst lasts as long as it would at the usual rate.
func edges(rates []float64, first, last int, usual float64) burst {
	b := burst{first: first, last: last, from: float64(first), to: float64(last)}
	for _, r := range rates[first:last] {
		b.sum += r
	}
	if !b.short() {
		b.from += 1 - min(1, rates[first]/rates[first+1])
		b.to -= 1 - min(1, rates[last-1]/rates[last-2])
		return b
	}
	free := max(0, b.to-b.from-b.sum/usual)
	before := free / 2 // where in a single window it is nobody knows
	if last-first > 1 {
		before = min(free, 1-min(1, rates[first]/usual))
	}
	b.from += before
	b.to -= free - before
	return b
}

// fold puts the bursts into iterations.
func (p *Pattern) fold(bursts []burst) error {
	if len(bursts) == 0 {
		return ErrIdle
	}
	// The first burst of the next iteration is the one nearest to where it is expected.
	starts := []int{0}
	for at := 0; ; {
		expected := bursts[at].from + p.Lag
		next := at + 1
		for next+1 < len(bursts) && math.Abs(bursts[next+1].from-expected) < math.Abs(bursts[next].from-expected) {
			next++
		}
		if next >= len(bursts) || next == len(bursts)-1 && bursts[next].from-expected < -p.Lag/5 {
			break // the last one may be another burst of the last iteration
		}
		starts = append(starts, next)
		at = next
	}
	n := len(starts) - 1 // whole periods, from first burst to first burst
	if n+1 < fewest {
		return fmt.Errorf("%w: %d bursts at a distance of %.1f windows", ErrShort, len(starts), p.Lag)
	}
	var periods []float64
	counts := map[int]int{}
	for i, s := range starts {
		p.Begins = append(p.Begins, bursts[s].from)
		if i > 0 {
			periods = append(periods, bursts[s].from-bursts[starts[i-1]].from)
			counts[s-starts[i-1]]++
		}
	}
	edge := resolution
	if slices.ContainsFunc(bursts, func(b burst) bool { return b.short() }) {
		edge = coarse
	}
	p.Period = meanOf(periods, edge/float64(n))
	usual := 0
	for count, times := range counts {
		if times > counts[usual] || times == counts[usual] && count < usual {
			usual = count
		}
	}
	at, length, rate := make([][]float64, usual), make([][]float64, usual), make([][]float64, usual)
	least := slices.Repeat([]float64{resolution}, usual)
	var spans []float64
	for i, s := range starts {
		end := len(bursts)
		if i < n {
			end = starts[i+1]
		}
		if end-s != usual {
			continue
		}
		p.Alike++
		if i == n {
			continue // its period has no end: the mean period is of the others
		}
		spans = append(spans, bursts[end-1].to-bursts[s].from)
		for k := range usual {
			b := &bursts[s+k]
			if b.short() {
				least[k] = coarse
			}
			at[k], length[k], rate[k] = append(at[k], b.from-bursts[s].from), append(length[k], b.to-b.from), append(rate[k], b.sum/(b.to-b.from))
		}
	}
	span := meanOf(spans, edge)
	p.Bursts = make([]Burst, usual)
	for k := range p.Bursts {
		one := Burst{meanOf(at[k], 0), meanOf(length[k], least[k]), meanOf(rate[k], 0)}
		one.At.Mean += p.Period.Mean - span.Mean
		one.At.Error = max(edge, math.Hypot(one.At.Error, math.Hypot(p.Period.Error, span.Error)))
		if least[k] == coarse {
			one.Rate.Error = math.NaN() // it is the usual rate of other bursts, or that of windows which are not full
		}
		p.Bursts[k] = one
	}
	return nil
}

// meanOf returns the mean of values with its error, which is at least least.
func meanOf(values []float64, least float64) (v Value) {
	n := float64(len(values))
	for _, x := range values {
		v.Mean += x / n
	}
	if n < 2 {
		return Value{v.Mean, math.NaN()}
	}
	for _, x := range values {
		v.Error += (x - v.Mean) * (x - v.Mean)
	}
	v.Error = max(math.Sqrt(v.Error/(n-1)/n)*student(n-1)/2, least)
	return v
}

// student returns the quantile of Student's t distribution below which 97.5 % of it are,
// within 1 %; Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
func student(freedom float64) float64 {
	switch freedom {
	case 1:
		return 12.706
	case 2:
		return 4.303
	}
	const z = 1.959964
	return z + (z*z*z+z)/(4*freedom) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*freedom*freedom) +
		(3*z*z*z*z*z*z*z+19*z*z*z*z*z+17*z*z*z-15*z)/(384*freedom*freedom*freedom)
}
