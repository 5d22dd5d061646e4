package congestion

import "github.com/csiglab/csiglab/units"

// connectX is DCQCN's reaction point with the rules of ConnectX NICs, as NVIDIA's table "DCQCN CC
// parameters" (DOCA 3.4), mlxconfig of a ConnectX-5 (ironcore-dev/dpservice #26) and the public HPCC
// simulator (alibaba-edu, rdma-hw.cc) have them. Their defaults are T 300 us (rpg_time_reset), F 1
// (rpg_threshold), R_AI 5 and R_HAI 50 Mb/s at every rate, g 5/1024 each 1 us (dce_tcp_g,
// dce_tcp_rtt), cuts and CNPs 4 us apart (rate_reduce_monitor_period, min_time_between_cnps), and
// at least 1 Mb/s. HotNets'22 calls 125 us the default of its NICs. The rules depart from the paper
// in:
//
//   - alpha changes at the end of each K, whether or not there was a CNP in it: the CNPs
//     raise it and do not begin K anew;
//   - two cuts are at least cut_interval apart;
//   - a cut sets the target to the rate only if the timer has raised the rate since the cut
//     before. A row of cuts keeps the target, and the rate recovers to that;
//   - there is no byte counter (rpg_byte_reset), as in the simulator: the timer makes F fast recoveries, one additive increase and
//     then hyper increases. The i-th of these adds i R_HAI, as in the paper; departs from the
//     simulator, which adds one R_HAI each time, with which a flow takes 30 ms for half a
//     link that becomes free.
//
// T decides the shares. Between two cuts of a full link each flow has as many increases as T
// fits in, and each halves the distance to the target. So a flow with one increase more
// loses half as much with each cut, and has about twice the rate.
type connectX struct {
	reaction
	cutGap units.Duration
	cutAt  units.Time // no cut before

	counted units.Time // up to here alpha has counted
	marked  bool       // there was a CNP since
}

// OnCNP cuts, if cut_interval has passed.
func (c *connectX) OnCNP(now units.Time) {
	if !c.limited {
		c.limited, c.counted = true, now
	}
	c.age(now)
	c.marked = true
	if now < c.cutAt {
		return
	}
	c.cutAt = now.Add(c.cutGap)
	if c.times > 0 {
		c.target = c.current
	}
	c.current *= 1 - c.alpha/2
	c.times = 0
	c.timerAt = now.Add(c.timer)
	c.out.Action = dcqcnDecrease
	c.publish()
}

// age counts the whole K that have passed: alpha = (1-g) alpha, and + g after the first of
// them if there was a CNP in it.
func (c *connectX) age(now units.Time) {
	periods := int64(now.Sub(c.counted) / c.alphaGap)
	if periods == 0 {
		return
	}
	c.counted = c.counted.Add(units.Duration(periods) * c.alphaGap)
	alpha := c.alpha * (1 - c.gain)
	if c.marked {
		alpha += c.gain
	}
	c.alpha, c.marked = alpha*power(1-c.gain, periods-1), false
}

// OnTimer is an increase each T.
func (c *connectX) OnTimer(now units.Time) {
	for c.timerAt <= now {
		c.times++
		c.increase()
		c.timerAt = c.timerAt.Add(c.timer)
	}
	c.publish()
}

func (c *connectX) OnSend(_ units.Time, s *Send) { c.phase.send(s) }

func (c *connectX) increase() {
	switch past := c.times - 1 - c.fast; {
	case past < 0:
		c.out.Action = dcqcnFast
	case past == 0:
		c.target += float64(c.ai * c.share() * c.growth)
		c.out.Action = dcqcnAdditive
	default:
		// Departs from HotNets'22, which scales R_AI: nearly all increases are these.
		c.target += float64(float64(past) * c.hai * c.share() * c.growth)
		c.out.Action = dcqcnHyper
	}
	c.approach()
}
