package aqm

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// none marks nothing; what does not fit is trimmed or dropped all the same.
var none = Algorithm{
	Spec:  algorithm.Spec{Name: "none", Doc: "no marks"},
	Build: func(Port, *algorithm.Reader) Policy { return noneState{} },
}

type noneState struct{}

func (noneState) Mark(units.Time, Departure) bool { return false }
