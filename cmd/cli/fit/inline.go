package fit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Inline says how a profile is written in one word.
const Inline = "NAME=PERIOD:[COMPUTE+]BURST[@RATE][,COMPUTE+BURST[@RATE]…]"

// printable reports whether a terminal shows a name as it is, without obeying it.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) })
}

// parseInline reads a profile in one word, such as a=255ms:114ms@25Gbps. Without a time of
// computing, the only burst is at the end of the period; else each burst follows its time of
// computing, and what is left of the period is computing. Its error names the part.
func parseInline(text string) (p circle.Profile, err error) {
	name, rest, _ := strings.Cut(text, "=")
	if p.Name = strings.TrimSpace(name); p.Name == "" {
		return p, fmt.Errorf("%q: the name is empty; want %s", text, Inline)
	}
	switch {
	case !printable(p.Name):
		return p, fmt.Errorf("%q: the name has characters that cannot be printed", text)
	case strings.Contains(p.Name, ","):
		return p, fmt.Errorf("%q: the name has a comma, which parts the jobs of --link", text)
	}
	period, bursts, ok := strings.Cut(rest, ":")
	if !ok {
		return p, fmt.Errorf("%q: no colon behind the period; want %s, such as %s=255ms:114ms@25Gbps", text, Inline, p.Name)
	}
	if p.Period, err = units.ParseDuration(period); err != nil {
		return p, fmt.Errorf("%q: period: %w", text, err)
	}
	parts := strings.Split(bursts, ",")
	at := units.Duration(0)
	for i, part := range parts {
		fail := func(what string, err error) error { return fmt.Errorf("%q: %s of burst %d: %w", text, what, i+1, err) }
		var b circle.Burst
		times, rate, fast := strings.Cut(part, "@")
		if fast {
			if b.Rate, err = units.ParseRate(rate); err == nil && b.Rate <= 0 {
				err = fmt.Errorf("%q, want more than 0", rate)
			}
			if err != nil {
				return p, fail("rate", err)
			}
		}
		compute, length, both := strings.Cut(times, "+")
		switch {
		case !both:
			length = compute
			if len(parts) > 1 {
				return p, fmt.Errorf("%q: burst %d is %q; where there are several, each is COMPUTE+BURST", text, i+1, part)
			}
		default:
			gap, err := units.ParseDuration(compute)
			if err == nil && gap < 0 {
				err = fmt.Errorf("%q, want 0 or more", compute)
			}
			if err != nil {
				return p, fail("computing", err)
			}
			at += min(gap, circle.MaxPeriod+1) // a sum that does not overflow
		}
		if b.Length, err = units.ParseDuration(length); err != nil {
			return p, fail("length", err)
		}
		if b.At = at; !both {
			b.At = max(0, p.Period-b.Length)
		}
		at += min(b.Length, circle.MaxPeriod+1)
		p.Bursts = append(p.Bursts, b)
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("%q: %w", text, err)
	}
	return p, nil
}
