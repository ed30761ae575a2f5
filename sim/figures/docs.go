package figures

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

//go:embed experiments.md.tmpl
var pageText string

// Names below the folder of the documentation.
const (
	pageName     = "experiments.md"
	pageFolder   = "experiments"
	verdictsName = "verdicts.csv"
)

// WriteDocs writes experiments.md into the folder dir, and beside it a folder experiments with its figures and
// the rulings. The report must have all figures.
func (r *Report) WriteDocs(dir string) error {
	folder := filepath.Join(dir, pageFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of figures: %w", err)
	}
	for i := range r.Figures {
		if err := writeFile(filepath.Join(folder, r.Figures[i].ID+".svg"), r.Figures[i].SVG); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(folder, verdictsName), r.verdicts); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, pageName), r.page)
}

// verdicts writes the ruling on every claim.
func (r *Report) verdicts(w io.Writer) error {
	rows := [][]string{{"claim", "ruling"}}
	for _, f := range r.Figures {
		for _, v := range f.Verdicts {
			rows = append(rows, []string{v.ID, string(v.Ruling)})
		}
	}
	return writeRows(w, rows)
}

// page writes experiments.md.
func (r *Report) page(w io.Writer) error {
	page, err := template.New(pageName).Funcs(template.FuncMap{
		"thousands": func(n int) string { return thousands(strconv.Itoa(n)) },
		"anchor":    anchor,
		"short":     func(f Figure) string { name, _, _ := strings.Cut(f.Title, ":"); return name },
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("fill the template: %w", err)
	}
	return nil
}

// anchor is how a heading is linked to.
func anchor(title string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127:
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(title))
}

// Ruled is a verdict with the figure it belongs to.
type Ruled struct {
	Figure
	Verdict
}

// Primer and Ours are the figures of the primer, and our own, which begin with the ninth.
func (r *Report) Primer() []Figure { return r.part(func(f Figure) bool { return f.ID < ourFirst }) }

// Ours are the figures that the primer does not have.
func (r *Report) Ours() []Figure { return r.part(func(f Figure) bool { return f.ID >= ourFirst }) }

const ourFirst = "09"

func (r *Report) part(in func(Figure) bool) []Figure {
	var part []Figure
	for _, f := range r.Figures {
		if in(f) {
			part = append(part, f)
		}
	}
	return part
}

// Ruled lists the verdicts on the primer's claims with one ruling, in order.
func (r *Report) Ruled(ruling string) []Ruled {
	var list []Ruled
	for _, f := range r.Primer() {
		for _, v := range f.Verdicts {
			if string(v.Ruling) == ruling {
				list = append(list, Ruled{f, v})
			}
		}
	}
	return list
}
