package regression
import ("testing";"os";"strings";"fmt")
func TestLook(t *testing.T){ for n,d:=range examples(){ os.WriteFile("/tmp/render/"+n+".md",[]byte(Markdown(d)),0o644); var b strings.Builder; Text(&b,d); os.WriteFile("/tmp/render/"+n+".txt",[]byte(b.String()),0o644); var x strings.Builder; fmt.Println(n, JUnit(&x,d)); os.WriteFile("/tmp/render/"+n+".xml",[]byte(x.String()),0o644); var h strings.Builder; fmt.Println(HTML(&h,d), h.Len()); os.WriteFile("/tmp/render/"+n+".html",[]byte(h.String()),0o644)}}
