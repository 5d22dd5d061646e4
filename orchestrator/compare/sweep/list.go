package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// maxList is the most bytes of a file with a list of points.
const maxList = 64 << 20

// ParsePoints returns the points of the flags --grid, as PATH=V1,V2, and --list, a file as
// ReadList takes it; nil without any.
func ParsePoints(grid []string, file string) (*experiment.Sweep, error) {
	if len(grid) == 0 && file == "" {
		return nil, nil
	}
	points := &experiment.Sweep{}
	var wrong []error
	for _, text := range grid {
		axis, err := experiment.ParseGrid("--grid", text)
		wrong = append(wrong, err)
		points.Grid = append(points.Grid, axis)
	}
	if file != "" {
		list, err := ReadList(file)
		if err != nil {
			err = fmt.Errorf("--list %w", err)
		}
		wrong = append(wrong, err)
		points.List = list
	}
	return points, failure.Configuration(errors.Join(wrong...))
}

// ReadList reads the points of a file. A name that ends in .csv is a table: its first row has
// the paths, each further row is a point, and an empty cell leaves the path alone. One that
// ends in .yaml or .yml is a list of mappings as the key sweep.list has. Values are YAML, and
// the names of files are relative to the folder of the file. Errors name the place.
func ReadList(file string) ([][]experiment.Override, error) {
	ending := strings.ToLower(filepath.Ext(file))
	if ending != ".csv" && ending != ".yaml" && ending != ".yml" {
		return nil, fmt.Errorf("%s: want a file that ends in .csv, .yaml or .yml", file)
	}
	data, err := own.ReadFile(file, maxList)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if ending == ".csv" {
		return parseCSV(file, data)
	}
	return experiment.ParseSweepList(file, filepath.Dir(file), data)
}

func parseCSV(file string, data []byte) (points [][]experiment.Override, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	place := func(field int) string {
		line, column := r.FieldPos(field)
		return fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	wrong := func(err error) error {
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return fmt.Errorf("%s:%d:%d: %w", file, parse.Line, parse.Column, parse.Err)
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the table is empty; want a row of paths", file)
	}
	if err != nil {
		return nil, wrong(err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("%s: the path %q has two columns", place(i), header[i])
		}
		if _, err := experiment.ParsePoint(header[i], "x", place(i), ""); err != nil {
			return nil, err
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrong(err)
		}
		point := []experiment.Override{}
		for i, cell := range row {
			if strings.TrimSpace(cell) == "" {
				continue
			}
			o, err := experiment.ParsePoint(header[i], cell, place(i), filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			point = append(point, o)
		}
		points = append(points, point)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s: the table has no points below its first row", file)
	}
	return points, nil
}
