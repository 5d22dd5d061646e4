package compare

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isNumbers reports whether an argument names numbers of another program: a CSV file.
func isNumbers(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(name), ".csv")
}

// readNumbers reads numbers of another program from a CSV file: a row for each value, with the columns
// metric, seed and value, and variant if there are several. Other columns are not read. Errors name
// file and line.
func readNumbers(name string) (*Measured, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &Measured{Folder: name, Experiment: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))}
	if err := m.readCSV(f); err != nil {
		return nil, misuse("%s%w", name, err)
	}
	return m, nil
}

// numberColumns are the columns of the file; variant may be missing.
var numberColumns = []string{"metric", "seed", "value", "variant"}

func (m *Measured) readCSV(f io.Reader) error {
	r := csv.NewReader(bufio.NewReader(f))
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf(": %w", err)
	}
	places := make([]int, len(numberColumns))
	for i, name := range numberColumns {
		places[i] = slices.IndexFunc(head, func(c string) bool { return strings.TrimPrefix(strings.TrimSpace(c), "\ufeff") == name })
		if places[i] < 0 && name != "variant" {
			return fmt.Errorf(":1: no column %q; want metric, seed, value, and variant if there are several", name)
		}
	}
	cases := map[string]map[uint64]map[string]float64{} // by variant, seed and metric
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf(": %w", err)
		}
		line, _ := r.FieldPos(0)
		cell := func(i int) string {
			if places[i] < 0 {
				return "run"
			}
			return strings.TrimSpace(row[places[i]])
		}
		metric, variant := cell(0), cell(3)
		seed, err := strconv.ParseUint(cell(1), 10, 64)
		if err != nil {
			return fmt.Errorf(":%d: seed %q: want a whole number", line, cell(1))
		}
		value, err := strconv.ParseFloat(cell(2), 64)
		if err != nil {
			return fmt.Errorf(":%d: value %q: want a number", line, cell(2))
		}
		if metric == "" || variant == "" {
			return fmt.Errorf(":%d: the name of the metric or variant is empty", line)
		}
		if cases[variant] == nil {
			cases[variant] = map[uint64]map[string]float64{}
			m.Cases = append(m.Cases, Case{Variant: variant})
		}
		if cases[variant][seed] == nil {
			cases[variant][seed] = map[string]float64{}
		}
		if _, twice := cases[variant][seed][metric]; twice {
			return fmt.Errorf(":%d: a second value of %s, seed %d", line, metric, seed)
		}
		cases[variant][seed][metric] = value
	}
	if len(m.Cases) == 0 {
		return errors.New(": no values")
	}
	for i := range m.Cases {
		c := &m.Cases[i]
		for seed, metrics := range cases[c.Variant] {
			c.Seeds = append(c.Seeds, Seed{Seed: seed, Metrics: metrics})
		}
		slices.SortFunc(c.Seeds, func(a, b Seed) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return nil
}

// foreign reports whether the numbers are of another program.
func (m *Measured) foreign() bool { return m.Version == "" }
