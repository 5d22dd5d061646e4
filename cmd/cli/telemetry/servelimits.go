package telemetry

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/csiglab/csiglab/units"
)

// limitFlags are the limits of queries of csiglab serve.
type limitFlags struct {
	limits.Limits
	length, memory string
}

func (l *limitFlags) flags(f *pflag.FlagSet) {
	l.Limits = limits.Default()
	l.Queries = 0
	f.StringVar(&l.length, limits.FlagLength, l.Length.String(), "the `SIZE` of a query's text at most")
	f.IntVar(&l.Depth, limits.FlagDepth, l.Depth, "levels of brackets and operators of a query at most, `N`")
	f.IntVar(&l.Nodes, limits.FlagNodes, l.Nodes, "words, signs and repetitions in regular expressions of a query at most, `N`")
	f.IntVar(&l.Series, limits.FlagSeries, l.Series, "series that a query may read, `N`")
	f.IntVar(&l.Samples, limits.FlagSamples, l.Samples, "samples that a query may hold at a time, also its series times its steps, `N`")
	f.DurationVar(&l.Time, limits.FlagTime, l.Time, "the `TIME` of a query at most; it waits for its turn as long at most")
	f.StringVar(&l.memory, limits.FlagMemory, l.Memory.String(), "the `SIZE` of the memory of all queries together, beside what is stored")
	f.IntVar(&l.Queries, limits.FlagQueries, l.Queries, "short queries, long queries and other requests at a time, `N` of each; 0 is half of the processors, at least 2")
	f.IntVar(&l.Waiting, limits.FlagWaiting, l.Waiting, "short queries, long queries and other requests that may wait, `N` of each")
}

// limits checks the flags.
func (l *limitFlags) limits() (_ limits.Limits, err error) {
	const leastTime, leastMemory, mostMemory = 10 * time.Millisecond, 16 * units.MB, 100 * units.TB
	for _, number := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{limits.FlagDepth, l.Depth, 1, 1000}, // deeper ones take all the machine's memory
		{limits.FlagNodes, l.Nodes, 1, 1e6},
		{limits.FlagSeries, l.Series, 1, 1e9},
		{limits.FlagSamples, l.Samples, 1, 1e9},
		{limits.FlagQueries, l.Queries, 0, 1000},
		{limits.FlagWaiting, l.Waiting, 1, 1e6},
	} {
		if number.value < number.least || number.value > number.most {
			return limits.Limits{}, command.Usage("--%s %d: want %d to %d", number.flag, number.value, number.least, number.most)
		}
	}
	for _, size := range []struct {
		flag, text  string
		value       *units.Size
		least, most units.Size
	}{
		{limits.FlagLength, l.length, &l.Length, 1, 10 * units.MB},
		{limits.FlagMemory, l.memory, &l.Memory, leastMemory, mostMemory},
	} {
		if *size.value, err = units.ParseSize(size.text); err != nil {
			return limits.Limits{}, command.Usage("--%s: %w", size.flag, err)
		}
		if *size.value < size.least || *size.value > size.most {
			return limits.Limits{}, command.Usage("--%s %s: want %v to %v", size.flag, size.text, size.least, size.most)
		}
	}
	if l.Time < leastTime {
		return limits.Limits{}, command.Usage("--%s %v: want at least %v", limits.FlagTime, l.Time, leastTime)
	}
	return l.Limits, nil
}
