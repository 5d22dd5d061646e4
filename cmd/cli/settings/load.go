package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// Layer is where a value comes from.
type Layer string

// Layers, the strongest first.
const (
	Flag     Layer = "flag"
	Variable Layer = "variable"
	File     Layer = "file"
	Default  Layer = "default"
)

// Value is the value of a setting, and where it comes from.
type Value struct {
	Text string // "": there is none
	From Layer
	At   string // the flag, the variable, or the file and its line
	// Folder: the file is that of the working directory, which may come with the work of others.
	Folder bool
}

// FolderFile is the file of settings in a working directory.
const FolderFile = "csiglab.yaml"

// mostFile is how long a file of settings may be, in bytes.
const mostFile = 16 << 10

// Request says which settings are wanted.
type Request struct {
	Settings []Setting
	Env      []string                    // as of os.Environ
	Flag     func(s Setting) *pflag.Flag // that stands for a setting; nil: none
	NoFiles  bool                        // files are not read
}

// Values has the value of each setting by key.
type Values map[string]Value

// Load finds the values. Notes say in words which files were left out. A mistake in a file
// is an experiment.Errors.
func (r Request) Load() (values Values, notes []string, err error) {
	layers := viper.New()
	if !r.NoFiles {
		files := []string{FolderFile}
		if name := UserFile(r.Env); name != "" {
			files = []string{name, FolderFile}
		}
		for _, name := range files {
			given, err := readFile(name, r.Env)
			if errors.Is(err, own.ErrForeign) {
				notes = append(notes, fmt.Sprintf("%s is not read: %v", name, err))
			} else if err != nil {
				return nil, nil, err
			}
			if err := layers.MergeConfigMap(given); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	given, err := r.variables()
	if err != nil {
		return nil, nil, err
	}
	if err := layers.MergeConfigMap(given); err != nil {
		return nil, nil, fmt.Errorf("environment variables: %w", err)
	}
	values = Values{}
	for _, s := range r.Settings {
		layers.SetDefault(s.Key, Value{Text: s.Default, From: Default})
		if f := r.flag(s); f != nil {
			if err := layers.BindFlagValue(s.Key, flagValue{f}); err != nil {
				return nil, nil, fmt.Errorf("--%s: %w", f.Name, err)
			}
		}
		switch value := layers.Get(s.Key).(type) {
		case Value:
			values[s.Key] = value
		case string:
			values[s.Key] = Value{Text: value, From: Flag, At: "--" + r.flag(s).Name}
		}
	}
	return values, notes, nil
}

func (r Request) flag(s Setting) *pflag.Flag {
	if r.Flag == nil {
		return nil
	}
	return r.Flag(s)
}

// variables returns the values of environment variables. An empty variable counts as none,
// as does 0 where a number is wanted.
func (r Request) variables() (map[string]any, error) {
	given := map[string]any{}
	for _, pair := range r.Env {
		name, text, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(r.Settings, func(s Setting) bool { return s.Variable == name })
		if i < 0 || text == "" || r.Settings[i].number && text == "0" {
			continue
		}
		s := r.Settings[i]
		// What docker accepts is docker's to say; a flag makes the variable meaningless.
		if f := r.flag(s); s.Key != DockerHost && (f == nil || !f.Changed) {
			if want := s.check(text); want != "" {
				return nil, &experiment.Error{File: "environment variable " + name, Msg: fmt.Sprintf("%q: %s", Shown(text), want), Suggestion: s.nearest(text)}
			}
		}
		given[s.Key] = Value{Text: text, From: Variable, At: name}
	}
	return given, nil
}

// nearest returns the word that a wrong value was probably meant to be.
func (s *Setting) nearest(text string) string {
	if s.Words == nil {
		return ""
	}
	return spelling.Nearest(text, s.Words())
}

// flagValue is a flag as viper takes it.
type flagValue struct{ *pflag.Flag }

// HasChanged implements viper.FlagValue.
func (f flagValue) HasChanged() bool { return f.Changed }

// Name implements viper.FlagValue.
func (f flagValue) Name() string { return f.Flag.Name }

// ValueString implements viper.FlagValue.
func (f flagValue) ValueString() string { return f.Value.String() }

// ValueType implements viper.FlagValue. Values are texts here.
func (f flagValue) ValueType() string { return "string" }

// lookup returns a variable of an environment.
func lookup(env []string, name string) (value string) {
	for _, pair := range env {
		if n, v, _ := strings.Cut(pair, "="); n == name {
			value = v
		}
	}
	return value
}

// UserFile returns the name of the user's file of settings, "" if the environment does not
// say where it is.
func UserFile(env []string) string {
	const name = "csiglab/config.yaml"
	// XDG Base Directory Specification 0.8: a relative path is invalid and is ignored.
	if dir := lookup(env, "XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	if home := lookup(env, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", name)
	}
	return ""
}

// readFile returns the values of a file of settings, by key; none if there is no such file.
// The error wraps own.ErrForeign if others may have written the file.
func readFile(name string, env []string) (map[string]any, error) {
	data, err := own.ReadTrusted(name, mostFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case errors.Is(err, own.ErrForeign):
		return nil, err
	case err != nil:
		return nil, experiment.Errors{{File: name, Msg: err.Error()}}
	}
	if blank(string(data)) {
		return nil, nil
	}
	root, err := experiment.ParseNode(name, data)
	if err != nil {
		return nil, err
	}
	if root.Kind != experiment.Mapping {
		return nil, experiment.Errors{root.Wrong("want keys and values, such as parallel: 4", "")}
	}
	given, wrong := map[string]any{}, experiment.Errors(nil)
	for _, k := range root.Keys {
		text, msg, suggestion := fileValue(k.Name, k.Value)
		if msg != "" {
			wrong = append(wrong, root.WrongKey(k, msg, suggestion))
			continue
		}
		if s := find(k.Name); s.path {
			text = place(text, filepath.Dir(name), lookup(env, "HOME"))
		}
		given[k.Name] = Value{Text: text, From: File, At: fmt.Sprintf("%s:%d", name, k.Line), Folder: name == FolderFile}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return given, nil
}

// find returns the setting of a key, nil if there is none.
func find(key string) *Setting {
	if i := slices.IndexFunc(table, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return &table[i]
	}
	return nil
}

// place returns the file that a value of a file in dir names.
func place(text, dir, home string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(text) {
		return text
	}
	return filepath.Join(dir, text)
}

// blank reports whether a text has comments and blank lines alone.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// fileValue returns the value of a key of a file, or what is wrong with it and what was
// probably meant.
func fileValue(key string, v *experiment.Node) (text, msg, suggestion string) {
	s := find(key)
	switch {
	case s == nil:
		msg, suggestion = unknown(key)
		return "", msg, suggestion
	case s.OneRun && s.Key == "out":
		return "", "is of one run, and --out or CSIGLAB_OUT names it; runs is the folder of all", "runs"
	case s.OneRun:
		return "", fmt.Sprintf("is of one run, and --%s or %s gives it", s.Flag, s.Variable), ""
	case v.Kind != experiment.Single:
		return "", "want a single value, got " + v.Kind.String(), ""
	case s.number && v.Quoted:
		return "", fmt.Sprintf("%q: want a whole number, got text", v.Text), ""
	case !s.number && !v.Quoted && !plain(v.Text):
		return "", fmt.Sprintf("want text, got %s; if it is meant, write it in quotes", v.Text), ""
	}
	if want := s.check(v.Text); want != "" {
		return "", fmt.Sprintf("%q: %s", Shown(v.Text), want), s.nearest(v.Text)
	}
	return v.Text, "", ""
}

// plain reports whether YAML takes a value without quotes for text, and not for a number or
// a truth value.
func plain(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err != nil && text != "true" && text != "false"
}

// secrets are parts of the names of keys that hold a secret.
var secrets = []string{"token", "secret", "password", "passwd", "credential", "apikey", "api-key"}

// ofExperiments are flags and words of experiments that are not keys of their files.
var ofExperiments = []string{"seed", "variant", "variants", "sweep", "set", "cc", "lb", "trace", "dilation", "shards", "start-unit"}

// unknown returns what is wrong with a key that the table does not have.
func unknown(key string) (msg, suggestion string) {
	lower := strings.ToLower(key)
	isSecret := slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(lower, part) }) && !strings.HasSuffix(lower, "file")
	top, _, _ := strings.Cut(key, ".")
	switch {
	case isSecret && strings.Contains(lower, "grafana"):
		return "a secret is a file, never a value: put it into a file that only you can read, and name the file by grafana-token-file", ""
	case isSecret:
		return "a secret is a file, never a value: put it into a file that only you can read, and name the file by token-file or grafana-token-file", ""
	case experiment.IsKey(key) || slices.Contains(ofExperiments, top):
		return "belongs to the experiment, which decides about results; give it in the experiment's file, or by --set and the flags of csiglab run", ""
	}
	var known []string
	for _, s := range table {
		if s.Flag == key {
			return "unknown setting", s.Key
		}
		if !s.OneRun {
			known = append(known, s.Key)
		}
	}
	if suggestion = spelling.Nearest(key, known); suggestion != "" {
		return "unknown setting", suggestion
	}
	return "unknown setting; known: " + strings.Join(known, " "), ""
}
