package main

import (
	"context"

	"github.com/csiglab/csiglab/metrics/promserver"
)

func (a *app) scraped(id string) promserver.Lab { return scrapedLab{} }

type scrapedLab struct{}

func (scrapedLab) Nodes(ctx context.Context) ([]string, error)             { return nil, promserver.ErrEnded }
func (scrapedLab) Text(ctx context.Context, node string) ([]byte, error) { return nil, promserver.ErrEnded }
