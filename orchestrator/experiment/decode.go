package experiment

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/units"
)

// decoder fills an Experiment from a tree and collects what is wrong.
type decoder struct {
	tables Tables
	// anySize is Options.AnySize.
	anySize bool
	errs    Errors
	root    *tree            // the whole experiment
	node    map[string]*tree // what was given, by path
	// doubtful are the paths whose values are wrong, checking is set while values are
	// compared: an error that follows from a wrong value is not reported.
	doubtful []string
	checking bool
	// compiled has what is wrong with each expression so far. The decoders of all
	// variants share it.
	compiled map[compiledKey][]*expression.Error
	files    map[string]bool // that the experiment reads; all variants share it
	// expressions is what is wrong with expressions; it is not in errs.
	expressions Errors
}

func (d *decoder) fail(at origin, path, msg, suggestion string) {
	if path != "" && !d.checking {
		d.doubtful = append(d.doubtful, path)
	}
	d.errs = append(d.errs, at.error(at.via+path, msg, suggestion))
}

// failAt reports an error at the value of a path, or at the nearest mapping
// around it that the file has.
func (d *decoder) failAt(path, msg, suggestion string) {
	if d.checking && !d.sound(path) {
		return
	}
	for p := path; ; p = p[:max(0, strings.LastIndexAny(p, ".["))] {
		if t, ok := d.node[p]; ok || p == "" {
			d.fail(t.at, path, msg, suggestion)
			return
		}
	}
}

// sound reports whether no value at these paths, below them or around them is wrong by
// itself.
func (d *decoder) sound(paths ...string) bool {
	within := func(path, other string) bool {
		rest, ok := strings.CutPrefix(path, other)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, path := range paths {
		for _, wrong := range d.doubtful {
			if within(path, wrong) || within(wrong, path) {
				return false
			}
		}
	}
	return true
}

func (d *decoder) given(path string) bool { return d.node[path] != nil }

// general returns a path with [] in place of each index.
func general(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	text := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		text = append(text, path[i])
		if path[i] == '[' {
			for i+1 < len(path) && '0' <= path[i+1] && path[i+1] <= '9' {
				i++
			}
		}
	}
	return string(text)
}

func (d *decoder) decode(t *tree, v reflect.Value, path string) {
	d.node[path] = t
	switch t.kind {
	case broken: // an error says why
		d.doubtful = append(d.doubtful, path)
		return
	case null:
		d.fail(t.at, path, "the key has no value", "")
		return
	}
	k := keyAt(path)
	if c := k.rule.table; c != nil {
		a := d.algorithm(t, c, path)
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.ValueOf(&a))
		} else {
			v.Set(reflect.ValueOf(a))
		}
		return
	}
	if k.short != "" && t.kind == scalar {
		t = &tree{kind: mapping, at: t.at, keys: []entry{{k.short, t.at, t}}}
	}
	want := scalar
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(t, v.Elem(), path)
		return
	case reflect.Struct, reflect.Map:
		want = mapping
	case reflect.Slice:
		want = sequence
	}
	if t.kind != want && !(isSeeds(path) && t.kind == scalar) {
		msg, suggestion := d.wrongKind(t, v.Type(), want, path)
		d.fail(t.at, path, msg, suggestion)
		return
	}
	switch {
	case want != scalar && v.Kind() != reflect.Struct && t.kind == want && len(t.keys)+len(t.items) == 0:
		v.SetZero() // an empty list means the same as no list
	case v.Kind() == reflect.Struct:
		d.structure(t, v, path)
	case v.Kind() == reflect.Map:
		m := reflect.MakeMap(v.Type())
		for _, e := range t.keys {
			value := reflect.New(v.Type().Elem()).Elem()
			d.decode(e.value, value, join(path, e.name))
			m.SetMapIndex(reflect.ValueOf(e.name), value)
		}
		v.Set(m)
	case isSeeds(path) && t.kind == scalar:
		d.seedRange(t, v, path)
	case v.Kind() == reflect.Slice:
		list := reflect.MakeSlice(v.Type(), len(t.items), len(t.items))
		for i, item := range t.items {
			d.decode(item, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(list)
	default:
		if msg, suggestion := d.value(t, v, k.rule); msg != "" {
			if likely := suggestSeeds(t.text); isSeeds(strings.TrimSuffix(general(path), "[]")) && likely != "" {
				msg, suggestion = fmt.Sprintf("%q stands without brackets", t.text), "seeds: "+likely
			}
			d.fail(t.at, path, msg, suggestion)
		}
	}
}

func (d *decoder) structure(t *tree, v reflect.Value, path string) {
	known, keys := members(v.Type()), keysOf(v.Type())
	for _, e := range t.keys {
		at := join(path, e.name)
		i := slices.Index(keys, e.name)
		if i < 0 {
			if len(d.errs) >= maxListed { // no message lists it
				d.fail(e.at, at, fmt.Sprintf("unknown key %q", e.name), "")
				continue
			}
			msg, suggestion := d.misplaced(path, e, keys)
			d.fail(e.at, at, msg, suggestion)
			continue
		}
		switch m := known[i]; {
		case at == "variants", at == "sweep":
		case m.kind != nil:
			value := reflect.New(m.kind).Elem()
			d.decode(e.value, value, at)
			v.Field(m.field).Set(value)
		default:
			d.decode(e.value, v.Field(m.field), at)
		}
	}
	for _, m := range known {
		k := keyAt(join(path, m.key))
		instead := func(other string) bool { return t.get(other) != nil }
		if k.required && t.get(m.key) == nil && !slices.ContainsFunc(k.unless, instead) {
			msg := fmt.Sprintf("the key %q is missing", m.key)
			if t.instead != "" {
				msg += fmt.Sprintf("; %s takes the place of %s", path, t.instead)
			}
			d.failAt(path, msg, "")
		}
	}
	d.fill(t, v, path)
}

// fill sets the values of a mapping that are not given to their defaults; t is nil for a
// mapping that is not given.
func (d *decoder) fill(t *tree, v reflect.Value, path string) {
	for _, m := range members(v.Type()) {
		if m.kind != nil || t.get(m.key) != nil {
			continue
		}
		at := join(path, m.key)
		k := keyAt(at)
		switch field := v.Field(m.field); {
		case k.rule.table != nil && field.Kind() == reflect.Struct:
			field.Set(reflect.ValueOf(d.algorithm(nil, k.rule.table, at)))
		case field.Kind() == reflect.Struct:
			d.fill(nil, field, at)
		case k.fallback != "" && field.Kind() == reflect.Slice:
			texts := strings.Fields(k.fallback)
			field.Set(reflect.MakeSlice(field.Type(), len(texts), len(texts)))
			for i, text := range texts {
				k.rule.mustRead(text, field.Index(i))
			}
		case k.fallback != "" && field.Kind() != reflect.Pointer:
			k.rule.mustRead(k.fallback, field)
		}
	}
}

// read sets a value to that of a text, which stands in a tag.
func (r Rule) read(text string, v reflect.Value) error {
	if msg, _ := new(decoder).value(&tree{kind: scalar, text: text}, v, r); msg != "" {
		return errors.New(msg)
	}
	return nil
}

// mustRead is read of a default, which was read with the schema.
func (r Rule) mustRead(text string, v reflect.Value) {
	if err := r.read(text, v); err != nil {
		panic("experiment: the default " + text + ": " + err.Error())
	}
}

// wrongKind returns the message about a value that is a mapping, a list or a single
// value where another of these belongs.
func (d *decoder) wrongKind(t *tree, of reflect.Type, want kind, path string) (msg, suggestion string) {
	for section := range kinds {
		for _, k := range kinds[section] {
			if k.Short != nil && t.kind == scalar && general(path) == join(section, k.Name)+"[]" {
				msg = fmt.Sprintf("%q is not %s", t.text, k.ShortWords)
				if k.ShortNear != nil {
					suggestion = k.ShortNear(t.text)
				}
				return msg, suggestion
			}
		}
	}
	msg = fmt.Sprintf("want %v, got %v", want, t.kind)
	_, key, _ := cutLast(path, ".")
	switch {
	case t.kind != scalar:
	case want == sequence:
		if !strings.ContainsAny(t.text, "[]{},:#\"'") {
			suggestion = "[" + t.text + "]"
		}
		return msg, suggestion
	default:
		for _, h := range d.homes(key, t) {
			if h.fits && h.path != path {
				return msg, h.path
			}
		}
	}
	if of.Kind() == reflect.Struct {
		msg += "; its keys: " + strings.Join(keysOf(of), " ")
	}
	return msg, ""
}

// isSeeds reports whether a path is one of a list of seeds, which may be written as a range.
func isSeeds(path string) bool { return path == "seeds" || general(path) == "tuned[].seeds" }

// seedRange reads "1..5", which is short for the list of these seeds.
func (d *decoder) seedRange(t *tree, v reflect.Value, path string) {
	first, last, ok := strings.Cut(t.text, "..")
	low, err1 := strconv.ParseUint(first, 10, 32)
	high, err2 := strconv.ParseUint(last, 10, 32)
	if !ok || err1 != nil || err2 != nil || high < low || high-low >= maxSeeds {
		d.fail(t.at, path, fmt.Sprintf("%q is not a list of seeds; write [1, 2, 3] or 1..3, at most %d", t.text, maxSeeds), suggestSeeds(t.text))
		return
	}
	var seeds []uint64
	for s := low; s <= high; s++ {
		seeds = append(seeds, s)
	}
	v.Set(reflect.ValueOf(seeds))
}

var (
	seedsLike = lazy.Regexp(`^([0-9]{1,9}) *(?:-|to|:|\.{1,3}|…) *([0-9]{1,9})$`)
	listLike  = lazy.Regexp(`^[0-9]+(?:[ ,]+[0-9]+)*$`)
)

// suggestSeeds returns the list of seeds that a text probably means, or "".
func suggestSeeds(text string) string {
	if m := seedsLike().FindStringSubmatch(text); m != nil {
		first, _ := strconv.Atoi(m[1]) // digits
		last, _ := strconv.Atoi(m[2])
		if first < last && last-first < maxSeeds {
			return m[1] + ".." + m[2]
		}
	}
	if listLike().MatchString(text) {
		return "[" + strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' }), ", ") + "]"
	}
	return ""
}

// value decodes a single value. It returns what is wrong with it, or "".
func (d *decoder) value(t *tree, v reflect.Value, r Rule) (msg, suggestion string) {
	if r.word != "" && t.text == r.word {
		v.SetInt(r.special)
		return "", ""
	}
	if name, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok { // an enumeration
		var text string
		if msg, suggestion = d.text(t, &text, r); msg == "" {
			if err := name.UnmarshalText([]byte(text)); err != nil {
				return err.Error(), ""
			}
		}
		return msg, suggestion
	}
	if v.Kind() == reflect.String {
		return d.text(t, v.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string), r)
	}
	print := func(n int64) string { return strconv.FormatInt(n, 10) }
	var err error
	var unit string // what the value has
	switch p := v.Addr().Interface().(type) {
	case *units.Duration:
		*p, err = units.ParseDuration(t.text)
		print = func(n int64) string { return units.Duration(n).String() }
		unit = "duration"
	case *units.Size:
		*p, err = units.ParseSize(t.text)
		print = func(n int64) string { return units.Size(n).String() }
		unit = "size"
	case *units.Rate:
		*p, err = units.ParseRate(t.text)
		print = func(n int64) string { return units.Rate(n).String() }
		unit = "rate"
	case *bool:
		if t.quoted || t.text != "true" && t.text != "false" {
			return fmt.Sprintf("%q is not true or false", t.text), nearestBool(t.text)
		}
		*p = t.text == "true"
		return "", ""
	case *float64:
		*p, err = parseNumber(t.text)
	case *uint64:
		*p, err = strconv.ParseUint(t.text, 10, 64)
		if err != nil || t.quoted {
			return fmt.Sprintf("%q is not a whole number from 0 to %d", t.text, uint64(math.MaxUint64)), ""
		}
		return "", ""
	default: // int, uint16
		var n int64
		if n, err = strconv.ParseInt(t.text, 0, 64); err != nil || t.quoted {
			return fmt.Sprintf("%q is not a whole number", t.text), ""
		}
		if v.CanUint() && n >= r.min && n <= r.max {
			v.SetUint(uint64(n))
		} else if !v.CanUint() {
			v.SetInt(n)
		} else {
			return fmt.Sprintf("%#x lies outside %#x to %#x", n, r.min, r.max), ""
		}
	}
	if err != nil {
		if unit != "" {
			suggestion = suggestUnit(t.text, unit)
		}
		return err.Error(), suggestion
	}
	if !v.CanInt() {
		return "", ""
	}
	switch n := v.Int(); {
	case n < r.min:
		least := print(r.min)
		if r.word != "" {
			least += ", or " + r.word
		}
		return fmt.Sprintf("%s is too small; the least is %s", t.text, least), ""
	case r.max != 0 && n > r.max:
		return fmt.Sprintf("%s is too large; the most is %s", t.text, print(r.max)), ""
	}
	return "", ""
}

func (d *decoder) text(t *tree, p *string, r Rule) (msg, suggestion string) {
	*p = t.text
	switch {
	case r.enum != nil && !slices.Contains(r.enum(), t.text):
		return unknown("value", t.text, r.enum()).Error(), spelling.Nearest(t.text, r.enum())
	case !r.allows(t.text):
		for _, likely := range []string{
			withoutBlanks(t.text), strings.ToLower(t.text), strings.ToLower(withoutBlanks(t.text)), strings.Replace(withoutBlanks(t.text), "->", "-", 1),
		} {
			if likely != "" && r.allows(likely) {
				suggestion = likely
				break
			}
		}
		if r.parse != nil {
			return r.parse(t.text).Error(), suggestion
		}
		return fmt.Sprintf("%q is not %s", t.text, r.want), suggestion
	case r.noFile && t.text == "":
	case r.file:
		var name string
		var err error
		var reads []string
		if r.packed {
			name, reads, err = inputPath(t.at.dir, t.text)
		} else {
			name, err = inputFile(t.at.dir, t.text)
			reads = []string{name}
		}
		if errors.Is(err, fs.ErrNotExist) {
			suggestion = nearestFile(name)
		}
		if err != nil {
			return err.Error(), suggestion
		}
		for _, file := range reads {
			if d.files != nil {
				d.files[file] = true
			}
		}
		*p = name
	}
	return "", ""
}

// withoutBlanks returns a text without spaces and tabs.
func withoutBlanks(text string) string { return strings.Join(strings.Fields(text), "") }

func parseNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, nil
}

func nearestBool(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1", "true":
		return "true"
	case "no", "off", "n", "0", "false":
		return "false"
	}
	return ""
}

// suggestUnit returns text with the unit that was probably meant, when the unit
// is a known one in the wrong case or another spelling.
func suggestUnit(text, what string) string {
	number, unit := units.SplitUnit(text)
	spellings := map[string]map[string]string{
		"rate": {
			"g": "Gbps", "gb": "Gbps", "gbit": "Gbps", "gb/s": "Gbps", "gbit/s": "Gbps", "gbits": "Gbps",
			"m": "Mbps", "mb": "Mbps", "mbit": "Mbps", "mb/s": "Mbps", "mbit/s": "Mbps",
			"t": "Tbps", "tb": "Tbps", "tbit": "Tbps", "tb/s": "Tbps", "tbit/s": "Tbps",
		},
		"size": {
			"b": "B", "byte": "B", "bytes": "B", "k": "kB", "kb": "kB", "m": "MB", "mb": "MB", "g": "GB", "gb": "GB",
			"t": "TB", "tb": "TB", "ki": "KiB", "kib": "KiB", "mi": "MiB", "mib": "MiB", "gi": "GiB", "gib": "GiB",
		},
		"duration": {
			"u": "us", "usec": "us", "µ": "us", "μs": "us", "msec": "ms", "nsec": "ns", "sec": "s", "seconds": "s",
			"second": "s", "minutes": "min", "m": "min", "hour": "h", "hours": "h", "micros": "us",
			"us": "us", "ns": "ns", "ms": "ms", "s": "s", "ps": "ps",
		},
	}
	if known := spellings[what][strings.ToLower(unit)]; number != "" && known != "" && known != unit {
		return number + known
	}
	return ""
}
