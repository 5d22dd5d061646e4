package reading

import (
	"encoding/json"
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Values are the values of a line, one per point. NaN means that there is none;
// it is null in JSON.
type Values []float64

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	values := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			values[i] = &v[i]
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*v = make(Values, len(values))
	for i, value := range values {
		if value == nil {
			(*v)[i] = math.NaN()
			continue
		}
		(*v)[i] = *value
	}
	return nil
}

// Percents are shares in per cent, rounded. NoPercent stands for none.
type Percents []int8

// NoPercent is the value of Percents where there is none.
const NoPercent = -1

// Percent returns a share in per cent, from 0 to 100.
func Percent(share float64) int8 { return int8(math.Round(100 * min(1, max(0, share)))) }

// Rounded returns a value with five digits: more cannot be seen, and take room in files.
func Rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) {
		return v
	}
	return math.Round(v*scale) / scale
}

// Optional returns the value of an optional column, -1 where there is none.
func Optional[T int32 | int64](p *T) T {
	if p == nil {
		return -1
	}
	return *p
}

// LongestUS bounds the length of a run that is analysed by windows: a damaged table may have
// any time.
const LongestUS = 1e14

// Left returns the share of a port's rate that a window left, and whether the port's CSIG
// meter said so.
func Left(row *runfolder.PortRow, busyUS float64) (share float64, measured bool) {
	if row.ABWBPS != nil && row.RateBPS > 0 {
		return min(1, max(0, float64(*row.ABWBPS)/float64(row.RateBPS))), true
	}
	return 1 - ShareOf(busyUS, row.WindowUS), false
}
