package training

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// TestbedRate is the rate at which a job alone sends on the testbed of Rajasekaran et al.
// 2022, which has NICs of 50 Gb/s. It is derived: figure 3 gives VGG16's communication as
// 255 - 141 ms, in which 138,357,544 parameters in fp32 are sent.
const TestbedRate = 38_837 * units.Mbps

// ProfilePreset is a model as a job that computes and then communicates, on the testbed of
// Rajasekaran et al. 2022 ("the paper" here; docs/reference/references.md#published-jobs).
type ProfilePreset struct {
	Name       string
	Parameters int64          // 0: not published
	Compute    units.Duration // of a step; 0: not known
	// Link is how long the communication of a step has the link for itself; 0: as long as the
	// gradients in fp32 take at TestbedRate.
	Link      units.Duration
	Published string // what is published of these, and where
	Derived   string // what follows from other figures, and how; empty: nothing
}

// Bytes returns the size of the gradients in fp32, or what is sent in Link at TestbedRate.
func (p *ProfilePreset) Bytes() units.Size {
	if p.Link > 0 {
		return units.Size(math.Round(p.Link.Seconds() * float64(TestbedRate) / 8))
	}
	return 4 * units.Size(p.Parameters)
}

// Communicate returns how long the communication of a step takes at TestbedRate.
func (p *ProfilePreset) Communicate() units.Duration {
	if p.Link > 0 {
		return p.Link
	}
	return units.Duration(math.Round(float64(p.Bytes()) * 8 / float64(TestbedRate) * float64(units.Second)))
}

// Parameters of the models.
const (
	vgg16Parameters      = 138_357_544
	vgg19Parameters      = 143_667_240
	resnet50Parameters   = 25_557_032
	wideResNetParameters = 126_886_696
	bertBaseParameters   = 110_000_000
	bertLargeParameters  = 340_000_000
)

// What presets say of themselves again and again.
const (
	vgg16Published      = "parameters (Simonyan and Zisserman 2015)"
	vgg19Published      = "parameters (Simonyan and Zisserman 2015)"
	resnet50Published   = "parameters (He et al. 2016)"
	wideResNetPublished = "parameters (Zagoruyko and Komodakis 2016; the count is torchvision's)"
	bertPublished       = "parameters (Devlin et al. 2019)"

	batchPublished = "batch size, and iteration times beside other jobs (the paper, table 1, group "
	computeDerived = "compute, by the fluid model from the iteration times of the group; communication, the gradients in fp32 at 38.8 Gb/s"
	bothDerived    = "compute and communication, by the fluid model from the iteration times of the group, whose jobs start together"
	bertDerived    = "; that BERT is BERT-base: BERT-large's gradients would take longer than the published iterations"
)

// ProfilePresets lists the profiles, in an order for reading. It is not to be changed. A
// model of table 1 of the paper has its batch size in its name. No one profile of a model
// and a batch size gives the times of all groups, so that those of group 3 are apart.
var ProfilePresets = []ProfilePreset{
	{Name: "vgg16", Parameters: vgg16Parameters, Compute: 141 * units.Millisecond,
		Published: vgg16Published + "; compute and communication: 141 ms of an iteration of 255 ms (the paper, figure 3)"},
	{Name: "vgg19", Parameters: vgg19Parameters, Compute: 100 * units.Millisecond,
		Published: vgg19Published, Derived: "compute, from the times of phases in the paper's figure 1; communication, the gradients in fp32 at 38.8 Gb/s"},
	{Name: "resnet50", Parameters: resnet50Parameters, Published: resnet50Published},
	{Name: "wideresnet101-2", Parameters: wideResNetParameters, Published: wideResNetPublished},
	{Name: "bert-base", Parameters: bertBaseParameters, Published: bertPublished},
	{Name: "bert-large", Parameters: bertLargeParameters, Published: bertPublished},
	{Name: "dlrm", Compute: 719 * units.Millisecond, Link: 291 * units.Millisecond, Published: "batch size 2000, and iteration times beside other jobs (the paper, table 1, group 2)", Derived: bothDerived},

	{Name: "bert-8", Parameters: bertBaseParameters, Compute: 42 * units.Millisecond, Published: batchPublished + "1)", Derived: computeDerived + bertDerived},
	{Name: "vgg19-1200", Parameters: vgg19Parameters, Compute: 97_500 * units.Microsecond, Published: batchPublished + "1)", Derived: computeDerived},
	{Name: "wideresnet-800", Parameters: wideResNetParameters, Compute: 252_500 * units.Microsecond, Link: 21 * units.Millisecond, Published: batchPublished + "4)", Derived: bothDerived},
	{Name: "vgg16-1400", Parameters: vgg16Parameters, Compute: 252_500 * units.Microsecond, Link: 21 * units.Millisecond, Published: batchPublished + "4)", Derived: bothDerived},
	{Name: "vgg19-1400", Parameters: vgg19Parameters, Compute: 276_500 * units.Microsecond, Link: 50 * units.Millisecond, Published: batchPublished + "5)", Derived: bothDerived},
	{Name: "vgg16-1700", Parameters: vgg16Parameters, Compute: 276_500 * units.Microsecond, Link: 50 * units.Millisecond, Published: batchPublished + "5)", Derived: bothDerived},
	{Name: "resnet50-1600", Parameters: resnet50Parameters, Compute: 138 * units.Millisecond, Published: batchPublished + "5)", Derived: computeDerived},
	{Name: "bert-8-g3", Parameters: bertBaseParameters, Compute: 123 * units.Millisecond, Published: batchPublished + "3)", Derived: computeDerived + bertDerived},
	{Name: "vgg19-1400-g3", Parameters: vgg19Parameters, Compute: 291 * units.Millisecond, Published: batchPublished + "3)", Derived: computeDerived},
	{Name: "wideresnet-800-g3", Parameters: wideResNetParameters, Compute: 236 * units.Millisecond, Published: batchPublished + "3)", Derived: computeDerived},
}

// FindProfile returns the profile of a name.
func FindProfile(name string) (ProfilePreset, bool) {
	for _, p := range ProfilePresets {
		if p.Name == name {
			return p, true
		}
	}
	return ProfilePreset{}, false
}
