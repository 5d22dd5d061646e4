package blame

import (
	"fmt"
	"regexp"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/reports/words"
)

// First returns the blames of a variant that have predictions, or could have.
func (s *Section) First(variant string) (all []*Blame) {
	for i := range s.Blame {
		if b := &s.Blame[i]; b.Variant == variant && b.Job != "" && len(all) < maxSaves {
			all = append(all, b)
		}
	}
	return all
}

// predict sets what the removal of what the first blames of a variant name would save.
func (s *Section) predict(variant string) {
	replay, all := s.replays[variant], s.found[variant]
	if replay == nil || replay.Full() {
		return
	}
	delete(s.replays, variant)
	predictions := map[string][]waits.Predicted{} // by change: several rows may name one link
	saved := func(job string, c waits.Change) *float64 {
		key := fmt.Sprint(c)
		if predictions[key] == nil {
			predictions[key] = replay.Predict(c)
		}
		for _, p := range predictions[key] {
			if p.Job == job {
				share := p.Saved()
				return &share
			}
		}
		return nil
	}
	for _, b := range all[:min(maxSaves, len(all))] {
		switch {
		case b.Job == "":
		case b.Link != "":
			b.Saves = saved(b.Job, waits.Change{Rates: map[string]float64{b.Link: Relief}})
			pattern, rates := alike(b.Link, s.reading.Manifest.PortsOf(variant))
			if len(rates) > 1 {
				b.Alike, b.AlikeLinks, b.SavesAlike = pattern, len(rates), saved(b.Job, waits.Change{Rates: rates})
			}
		default:
			if more, ok := replay.Slower(b.Job, b.Rank); ok {
				b.Saves = saved(b.Job, waits.Change{Computes: map[string]map[int32]float64{b.Job: {b.Rank: 1 / more}}})
			}
		}
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// alike returns the pattern of the links that are called like one, but for numbers, and Relief for
// each of them; none if they have several rates.
func alike(link string, ports []runfolder.Port) (pattern string, rates map[string]float64) {
	pattern, rates = numbers.ReplaceAllString(link, "*"), map[string]float64{}
	rate := int64(0)
	for i := range ports {
		p := &ports[i]
		if !wildcard.Match(pattern, p.Link) {
			continue
		}
		if rate == 0 {
			rate = p.RateBPS
		}
		if p.RateBPS != rate {
			return pattern, nil
		}
		rates[p.Link] = Relief
	}
	return pattern, rates
}

// saves says what its removal would save.
func (b *Blame) saves() string {
	if b.Saves == nil {
		return words.None
	}
	text := savedShare(*b.Saves)
	if b.SavesAlike != nil {
		text += fmt.Sprintf("; with all %d links like it %s", b.AlikeLinks, savedShare(*b.SavesAlike))
	}
	return text
}

func savedShare(share float64) string {
	if share < 0 {
		return "−" + words.Percent(-share)
	}
	return words.Percent(share)
}

// Words says what was slow, and where it waited.
func (b *Blame) Words() (what, where string) { return b.name(), b.place() }
