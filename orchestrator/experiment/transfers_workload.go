package experiment

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Transfers are explicit messages.
type Transfers []Transfer

// Transfer is one message. In YAML also short: "1 -> 10 200MB".
type Transfer struct {
	Src   int            `yaml:"src,required" is:"host" doc:"host that sends"`
	Dst   int            `yaml:"dst,required" is:"host" doc:"host that receives, another one"`
	Size  units.Size     `yaml:"size,required" is:"payload" doc:"payload; at most 2³² packets"`
	Start units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it starts, before jitter"`
	Stop  units.Duration `yaml:"stop" is:"time or none" default:"none" doc:"when the sender stops, whatever is left; size is then the most that it sends, and the packet after those sent, of 1 B, is the last"`
	Job   int            `yaml:"job" is:"job" default:"0" doc:"job, or tenant, that it belongs to; with 'jobs', these have the first numbers, and the numbers of transfers come behind them"`
}

// shortTransfer reads "1 -> 10 200MB" or "1 -> 10 200MB at 5us".
func shortTransfer(text string) []KeyText {
	fields := strings.Fields(strings.Replace(text, "->", " -> ", 1))
	if len(fields) != 4 && (len(fields) != 6 || fields[4] != "at") || fields[1] != "->" {
		return nil
	}
	long := []KeyText{{"src", fields[0]}, {"dst", fields[2]}, {"size", fields[3]}}
	if len(fields) == 6 {
		long = append(long, KeyText{"start", fields[5]})
	}
	return long
}

// transferLike are the parts of a transfer with other signs, or blanks in other places.
var transferLike = lazy.Regexp(`^h?([0-9]+)\s*(?:-+>|=+>|→|>|-|:|,|\s|\bto\b)\s*h?([0-9]+)[\s,:]+([0-9.]+)\s*([A-Za-z]+)(?:[\s,]+(?:at|@)?\s*([0-9.]+)\s*([A-Za-zµμ]+))?$`)

// nearTransfer returns the short form that a text probably means, or "".
func nearTransfer(text string) string {
	m := transferLike().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	size, start := m[3]+m[4], m[5]+m[6]
	near := fmt.Sprintf("%s -> %s %s", m[1], m[2], cmp.Or(suggestUnit(size, "size"), size))
	if start != "" {
		near += " at " + cmp.Or(suggestUnit(start, "duration"), start)
	}
	return near
}

// Check implements WorkloadSpec.
func (l Transfers) Check(c *Check) {
	if len(l) == 0 {
		c.Fail("", "the list is empty")
	}
	for i, t := range l {
		item := fmt.Sprintf("[%d]", i)
		c.Host(item+".src", t.Src)
		c.Host(item+".dst", t.Dst)
		c.Size(item+".size", t.Size)
		if t.Src == t.Dst {
			c.Fail(item, "host %d cannot send to itself", t.Src)
		}
		c.Start(item+".start", t.Start)
		if t.Stop != 0 && t.Stop <= t.Start {
			c.Fail(item+".stop", "%v is not after the start at %v", t.Stop, t.Start)
		}
	}
}

// Build implements WorkloadSpec.
func (l Transfers) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	load := &workloads.Workload{Hosts: in.Hosts}
	for _, t := range l {
		load.Transfers = append(load.Transfers, workloads.Transfer{
			Src: t.Src, Dst: t.Dst, Size: t.Size, Start: t.Start, Stop: t.Stop, Job: t.Job,
			After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
		})
	}
	return load, nil, nil
}
