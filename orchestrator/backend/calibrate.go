package backend

import (
	"errors"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/netio"
)

// Calibrate measures how well the machine of a deployment keeps real time with the
// given number of nodes. The run's plan has two nodes and a link between them. No
// node is started. It takes about two seconds.
func Calibrate(d *Deployment, r *Run, nodes int) (*wall.Calibration, error) {
	net, err := buildNetwork(d, r)
	if err != nil {
		return nil, err
	}
	defer net.close()
	conns := make([]*netio.Packet, len(net.spaces))
	err = eachAtOnce(len(conns), func(i int) (err error) {
		s := net.spaces[i]
		conns[i], err = s.conn(s.interfaces, r.MaxFrame(), 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := wall.Calibrate(conns[0], conns[1], nodes)
	for _, conn := range conns {
		err = errors.Join(err, conn.Close())
	}
	return c, err
}
