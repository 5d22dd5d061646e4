module example.com/worsthop

go 1.26.0
