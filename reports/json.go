package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteJSON writes the facts, the numbers of all sections as they are, and the sentences of
// Story, as one object on one line.
func (r *Report) WriteJSON(w io.Writer) error {
	all, err := r.numbers()
	if err == nil {
		err = write(w, all)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// numbers returns the object of the JSON form.
func (r *Report) numbers() (map[string]any, error) {
	facts, err := decoded(&r.Facts)
	if err != nil {
		return nil, err
	}
	all := facts.(map[string]any)
	limits := map[string]any{"ports": r.Limits, "losses": r.Losses}
	if r.Crossings != nil {
		limits["crossings"] = r.Crossings
	}
	if r.Sharing != nil {
		limits["sharing"] = r.Sharing
	}
	lists := []map[string]any{{"findings": limits, "story": r.Story()}}
	for _, s := range r.sections {
		lists = append(lists, s.Numbers())
	}
	for _, fields := range lists {
		for name, v := range fields {
			more, err := decoded(v)
			if err != nil {
				return nil, err
			}
			all[name] = join(all[name], more)
		}
	}
	return all, nil
}

// decoded returns a value as JSON decodes it, but for numbers, which keep their digits.
func decoded(v any) (any, error) {
	var text bytes.Buffer
	if err := write(&text, v); err != nil {
		return nil, err
	}
	d := json.NewDecoder(&text)
	d.UseNumber()
	var all any
	err := d.Decode(&all)
	return all, err
}

// join joins what sections say under one name: the fields of objects, and lists one behind the
// other, or, if they are lists by variant of the same variants, element by element.
func join(a, b any) any {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			maps.Copy(a, b)
			return a
		}
	case []any:
		b, ok := b.([]any)
		if !ok {
			return a
		}
		if !slices.EqualFunc(a, b, sameVariant) || len(a) == 0 {
			return append(a, b...)
		}
		for i := range a {
			join(a[i], b[i])
		}
		return a
	}
	return b
}

// sameVariant reports whether two values are objects of one variant.
func sameVariant(a, b any) bool {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	return isX && isY && x["variant"] != nil && x["variant"] == y["variant"]
}
