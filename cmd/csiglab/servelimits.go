package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/units"
)

// limitFlags are the limits of queries of csiglab serve.
type limitFlags struct {
	promserver.Limits
	length, memory string
}

func (l *limitFlags) flags(f *pflag.FlagSet) {
	l.Limits = promserver.DefaultLimits()
	l.Queries = 0
	f.StringVar(&l.length, promserver.FlagLength, l.Length.String(), "the `SIZE` of a query's text at most")
	f.IntVar(&l.Depth, promserver.FlagDepth, l.Depth, "levels of brackets and operators of a query at most, `N`")
	f.IntVar(&l.Nodes, promserver.FlagNodes, l.Nodes, "words, signs and repetitions in regular expressions of a query at most, `N`")
	f.IntVar(&l.Series, promserver.FlagSeries, l.Series, "series that a query may read, `N`")
	f.IntVar(&l.Samples, promserver.FlagSamples, l.Samples, "samples that a query may hold at a time, also its series times its steps, `N`")
	f.DurationVar(&l.Time, promserver.FlagTime, l.Time, "the `TIME` of a query at most; it waits for its turn as long at most")
	f.StringVar(&l.memory, promserver.FlagMemory, l.Memory.String(), "the `SIZE` of the memory of all queries together, beside what is stored")
	f.IntVar(&l.Queries, promserver.FlagQueries, l.Queries, "short queries, long queries and other requests at a time, `N` of each; 0 is half of the processors, at least 2")
	f.IntVar(&l.Waiting, promserver.FlagWaiting, l.Waiting, "short queries, long queries and other requests that may wait, `N` of each")
}

// limits checks the flags.
func (l *limitFlags) limits() (_ promserver.Limits, err error) {
	const leastTime, leastMemory, mostMemory = 10 * time.Millisecond, 16 * units.MB, 100 * units.TB
	for _, number := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{promserver.FlagDepth, l.Depth, 1, 1000}, // deeper ones take all the machine's memory
		{promserver.FlagNodes, l.Nodes, 1, 1e6},
		{promserver.FlagSeries, l.Series, 1, 1e9},
		{promserver.FlagSamples, l.Samples, 1, 1e9},
		{promserver.FlagQueries, l.Queries, 0, 1000},
		{promserver.FlagWaiting, l.Waiting, 1, 1e6},
	} {
		if number.value < number.least || number.value > number.most {
			return promserver.Limits{}, usage("--%s %d: want %d to %d", number.flag, number.value, number.least, number.most)
		}
	}
	for _, size := range []struct {
		flag, text  string
		value       *units.Size
		least, most units.Size
	}{
		{promserver.FlagLength, l.length, &l.Length, 1, 10 * units.MB},
		{promserver.FlagMemory, l.memory, &l.Memory, leastMemory, mostMemory},
	} {
		if *size.value, err = units.ParseSize(size.text); err != nil {
			return promserver.Limits{}, usage("--%s: %w", size.flag, err)
		}
		if *size.value < size.least || *size.value > size.most {
			return promserver.Limits{}, usage("--%s %s: want %v to %v", size.flag, size.text, size.least, size.most)
		}
	}
	if l.Time < leastTime {
		return promserver.Limits{}, usage("--%s %v: want at least %v", promserver.FlagTime, l.Time, leastTime)
	}
	return l.Limits, nil
}
