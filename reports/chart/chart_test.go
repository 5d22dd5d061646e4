package chart

import (
	"math"
)

func lines() *Lines {
	c := &Lines{Name: "three flows <b>&", X: Scaling{Name: "Time", Unit: "ms", Max: 100, Clock: ClockRun, Microseconds: 1000}, Y: Scaling{Name: "Rate", Unit: "Gb/s"}, Shade: [2]float64{20, 80}, Levels: []LevelMark{{"fair share 3.3 Gb/s", 3.3}}}
	for i := range 3 {
		l := Line{Name: string(rune('a' + i)), Look: Nth(i)}
		for k := range 101 {
			l.X = append(l.X, float64(k))
			v := 3 + float64(i) + math.Sin(float64(k)/7+float64(i))
			l.Low, l.High = append(l.Low, v-0.5), append(l.High, v+0.5)
			if k > 40 && k < 50 && k != 45 {
				v = math.NaN()
			}
			l.Y = append(l.Y, v)
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func bars() *Bars {
	return &Bars{Name: "blame", X: Scaling{Name: "Share", Unit: "%"}, Parts: []BarPart{{"own queue", "queue", Action(0)}, {"others", "", Action(1)}, {"wire", "", Action(2)}},
		Rows: []BarRow{{Name: "flow a", Values: []float64{20, 50, 30}}, {Name: "a flow of quite a long name, longer than there is room for", Values: []float64{70, 29, 1}}}}
}
