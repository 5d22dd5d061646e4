package modules

import (
	"fmt"
	"strings"
)

// Fault is what an algorithm did that ends the run: it panicked, did not return, or asked
// for what it must not ask for. Machines panic with a *Fault in the last case; the drivers
// turn it into the run's error.
type Fault struct {
	Module string // empty: csiglab itself
	Kind   string // as in Entry; empty: not known
	Name   string // of the algorithm, or several if the module has registered several of the kind
	What   string // in words, with the algorithm as subject
}

// Error names the module and the algorithm.
func (f *Fault) Error() string {
	text := "the algorithm"
	switch {
	case f.Name != "" && words[f.Kind] != "":
		text = words[f.Kind] + " " + f.Name
	case f.Name != "":
		text = f.Name
	}
	if f.Module != "" {
		text += " of module " + f.Module
	}
	return text + " " + f.What
}

// Blame returns the fault of a stack: functions by their full names, the innermost first.
// It names the module whose function is the innermost one, and the algorithms that this
// function can belong to. ok is false if no function is of a compiled module.
func Blame(functions []string, what string) (f *Fault, ok bool) {
	inner := -1
	for i, function := range functions {
		m, compiled := Of(PackageOf(function))
		if inner < 0 && compiled {
			inner, f = i, &Fault{Module: m.Path}
		}
		if inner < 0 || compiled && m.Path == f.Module {
			continue
		}
		// The function that has called the module says what kind of algorithm it is.
		if kind := kindOf(PackageOf(function), method(functions[i-1])); kind != "" {
			f.Kind = kind
			break
		}
	}
	if inner < 0 {
		return nil, false
	}
	var names []string
	for _, e := range entries {
		if m, ok := Of(e.Package); ok && m.Path == f.Module && (f.Kind == "" || e.Kind == f.Kind) {
			names = append(names, e.Name)
		}
	}
	f.Name, f.What = strings.Join(names, " or "), fmt.Sprintf("%s (in %s)", what, functions[inner])
	return f, true
}

// method returns the last part of a function's full name.
func method(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

// kindOf returns the kind of algorithm that a package of csiglab calls by a method.
func kindOf(caller, method string) string {
	switch strings.TrimPrefix(caller, "github.com/csiglab/csiglab/nodes/") {
	case "host/congestion":
		return "cc"
	case "host/balance":
		return "lb"
	case "switch/aqm":
		return "aqm"
	case "switch/forward":
		return "routing"
	case "csig":
		return "signals"
	}
	switch method {
	case "Next", "OnFeedback":
		return "lb"
	case "Mark":
		return "aqm"
	case "Forward":
		return "routing"
	case "OnAck", "OnNack", "OnTimeout", "OnTimer", "OnSend", "OnPhase", "OnCNP", "Output":
		return "cc"
	}
	return ""
}

// Panic ends the goroutine with the fault.
//
//go:noinline
func (f *Fault) Panic() { panic(f) }
