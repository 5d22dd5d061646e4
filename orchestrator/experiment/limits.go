package experiment

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of the text of an experiment. Reading takes time and memory that grow with the
// text, and the YAML parser's grow faster with some shapes of it. With these limits,
// every text gets an answer within 5 s and 500 MB (docs/explanation/reliability.md#hostile-files).
const (
	maxFile         = 1 << 20 // bytes of an experiment file
	maxTopologyFile = 1 << 20
	maxSystemFile   = 1 << 20 // of ASTRA-sim
	maxTokens       = 200_000 // words and signs of YAML
	maxNesting      = 100     // of mappings and lists in each other
	maxKeys         = 1000    // of one mapping
	maxKey          = 256     // bytes of one key
	maxDocuments    = 100     // before the message that one is too many
	maxVariants     = 256
	maxValues       = 400_000 // of all variants together
	maxExpressions  = 1000    // expectations, and derived metrics
	maxSeeds        = 10_000
	maxListed       = 50  // errors that a message lists
	maxQuoted       = 400 // bytes of a text in a message
)

// checkTokens returns the first sign at which the text exceeds a limit, and which. It
// finds the nesting as the parser will, without its recursion: a sign opens a level if
// it begins a mapping or a list that is not the one around it.
func checkTokens(tokens token.Tokens) (at *token.Token, limit string) {
	type level struct {
		column int  // of its keys or dashes; 0 within brackets
		list   bool // by dashes
		keys   int
	}
	var levels []level
	within := func(column int, list bool) *level {
		for n := len(levels); n > 0; n-- {
			l := &levels[n-1]
			if l.column == 0 || l.column < column || l.column == column && (list || !l.list) {
				break
			}
			levels = levels[:n-1]
		}
		if n := len(levels); n > 0 && (levels[n-1].column == 0 || levels[n-1].column == column && levels[n-1].list == list) {
			return &levels[n-1]
		}
		levels = append(levels, level{column: column, list: list})
		return &levels[len(levels)-1]
	}
	documents, properties := 0, 0
	for i, t := range tokens {
		if i == maxTokens {
			return t, fmt.Sprintf("the text has more than %d words and signs; many transfers belong into a connection matrix, workload.file", maxTokens)
		}
		property := false
		switch t.Type {
		case token.DocumentHeaderType, token.DirectiveType:
			levels = levels[:0]
			if documents++; documents > maxDocuments {
				return t, fmt.Sprintf("more than %d documents; a file holds one", maxDocuments)
			}
		case token.MappingStartType, token.SequenceStartType:
			levels = append(levels, level{})
		case token.MappingEndType, token.SequenceEndType:
			for n := len(levels); n > 0; n-- { // an end without its start is the parser's to refuse
				if levels[n-1].column == 0 {
					levels = levels[:n-1]
					break
				}
			}
		case token.SequenceEntryType:
			within(t.Position.Column, true)
		case token.MappingKeyType, token.MappingValueType:
			key := t
			if t.Type == token.MappingValueType && i > 0 {
				key = tokens[i-1]
			}
			if len(key.Value) > maxKey {
				return key, fmt.Sprintf("a key of %d bytes; the most is %d", len(key.Value), maxKey)
			}
			l := within(key.Position.Column, false)
			if l.keys++; l.keys > maxKeys {
				return key, fmt.Sprintf("a mapping with more than %d keys", maxKeys)
			}
		case token.TagType, token.AnchorType:
			property = true
		}
		if property {
			properties++
		} else {
			properties = 0
		}
		if len(levels) > maxNesting || properties > maxNesting {
			return t, fmt.Sprintf("nested more than %d levels deep", maxNesting)
		}
	}
	return nil, ""
}

// values returns the number of values of a tree: scalars, mappings and lists.
func (t *tree) values() int {
	n := 1
	for _, e := range t.keys {
		n += e.value.values()
	}
	for _, item := range t.items {
		n += item.values()
	}
	return n
}

// shorten returns a text for a message, cut in the middle if it is too long for one.
func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	half := maxQuoted / 2
	return fmt.Sprintf("%s … (%d bytes) … %s", text[:half], len(text), text[len(text)-half:])
}
