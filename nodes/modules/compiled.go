package modules

import "strings"

// compiledText has the modules that are compiled in, and build what Build returns. The
// linker sets both, for csiglab build: path@version@sum, separated by commas.
var compiledText, build string

// compiled is what Compiled returns.
var compiled = parse(compiledText)

func parse(text string) (list []Module) {
	if text == "" {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		path, rest, _ := strings.Cut(one, "@")
		version, sum, _ := strings.Cut(rest, "@")
		list = append(list, Module{path, version, sum})
	}
	return list
}

// LinkerFlags returns the flags -X of a linker that make Compiled and Build return these.
func LinkerFlags(list []Module, build string) string {
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.Path + "@" + m.Version + "@" + m.Sum
	}
	const variables = " -X github.com/csiglab/csiglab/nodes/modules."
	return variables + "compiledText=" + strings.Join(texts, ",") + variables + "build=" + build
}
