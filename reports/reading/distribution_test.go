package reading

import "testing"

func TestDistributionOf(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(i + 1)
	}
	if got, want := *DistributionOf([][]float64{values, nil, values}), (Distribution{1000, 500.5, 500, 900, 990, 999, 1000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *DistributionOf([][]float64{{7}}), (Distribution{1, 7, 7, 7, 7, 7, 7}); got != want {
		t.Errorf("one value: %+v, want %+v", got, want)
	}
	if DistributionOf([][]float64{nil}) != nil {
		t.Error("a distribution of nothing")
	}
}
