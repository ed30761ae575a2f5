package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A matrix checks how a profile's classes fill families × buckets. Where a
// family or a bucket could not be read, checks that need it are left out, so
// that one mistake is one error.
type matrix struct {
	profile object
	buckets []string // names that were read, in file order
	blurred bool     // a bucket could not be read
	rows    []row
}

// A row is a class as read, with its place in the file.
type row struct {
	object
	class  Class
	family bool // the family is known, as is its absence
	bucket bool // the bucket is known, as is its absence
}

func (m *matrix) readBuckets() []Bucket {
	items, ok := m.profile.list("uncached_isl_buckets")
	m.blurred = !ok
	var buckets []Bucket
	last := int64(-1)
	for i, item := range items {
		o, ok := m.profile.d.object(item, &bucketSchema)
		if !ok {
			m.blurred = true
			continue
		}
		o.require("", "min_tokens", "bucket")
		b := Bucket{}
		if floor := o.whole("min_tokens", 0, maxTokens); floor != nil {
			b.MinTokens = *floor
			m.checkFloor(o, i, *floor, last)
			last = max(last, *floor)
		}
		b.Name = m.bucketName(o, buckets)
		buckets = append(buckets, b)
	}
	return buckets
}

func (m *matrix) checkFloor(o object, i int, floor, last int64) {
	switch {
	case i == 0 && floor != 0:
		o.d.report(o.fields["min_tokens"], fmt.Sprintf("the first floor is %d", floor), "begin at 0, so that every request has a bucket")
	case floor <= last:
		o.d.report(o.fields["min_tokens"], fmt.Sprintf("%d is not above the floor before it, %d", floor, last), "list the floors in strictly ascending order")
	}
}

func (m *matrix) bucketName(o object, before []Bucket) string {
	name, ok := o.name("bucket")
	if !ok {
		m.blurred = true
		return ""
	}
	if i := slices.IndexFunc(before, func(b Bucket) bool { return b.Name == name }); i >= 0 {
		o.d.report(o.fields["bucket"], fmt.Sprintf("%q is already the name of uncached_isl_buckets[%d]", name, i), "give each bucket a name of its own")
	} else {
		m.buckets = append(m.buckets, name)
	}
	return name
}

func (m *matrix) readClasses() []Class {
	items, _ := m.profile.list("policy_classes")
	var classes []Class
	for _, item := range items {
		o, ok := m.profile.d.object(item, &classSchema)
		if !ok {
			m.rows = append(m.rows, row{object: o})
			classes = append(classes, Class{})
			continue
		}
		c := class(o)
		classes = append(classes, c)
		m.rows = append(m.rows, m.place(o, c))
	}
	return classes
}

// place checks one class's family and bucket on their own.
func (m *matrix) place(o object, c Class) row {
	r := row{object: o, class: c, family: c.Family != "", bucket: c.Bucket != ""}
	switch family, bucket := o.has("policy_family"), o.has("cache_bucket"); {
	case !family && !bucket:
		r.family, r.bucket = true, true
	case !bucket:
		o.d.report(o.fields["policy_family"], "stands without cache_bucket", "give both for a class of the matrix, or neither for an explicit class")
	case !family:
		o.d.report(o.fields["cache_bucket"], "stands without policy_family", "give both for a class of the matrix, or neither for an explicit class")
	case r.bucket && !m.blurred && !slices.Contains(m.buckets, c.Bucket):
		r.bucket = false
		o.refuse("cache_bucket", fmt.Sprintf("%q is not a bucket of this profile%s", c.Bucket, suggest(c.Bucket, m.buckets)))
	}
	return r
}

// check compares the classes with each other and with the default family.
func (m *matrix) check(defaultFamily string) {
	families := m.families()
	for i, r := range m.rows {
		m.checkUnique(i)
		if r.family && r.bucket && r.class.Explicit() && slices.Contains(families, r.class.Name) {
			r.d.report(r.fields["name"], fmt.Sprintf("%q is an explicit class and also a policy_family", r.class.Name),
				"rename one: requests could not tell them apart")
		}
	}
	if slices.ContainsFunc(m.rows, func(r row) bool { return !r.family }) || len(m.rows) == 0 {
		return
	}
	if defaultFamily != "" && !slices.Contains(families, defaultFamily) {
		m.profile.refuse("default_policy_family", m.noFamily(defaultFamily, families))
	}
	if !m.blurred {
		m.checkHoles(families)
	}
}

func (m *matrix) noFamily(name string, families []string) string {
	if len(families) == 0 {
		return fmt.Sprintf("%q is not configured: every class is explicit", name)
	}
	return fmt.Sprintf("%q is not the policy_family of any class%s; the families are %s", name, suggest(name, families), strings.Join(families, ", "))
}

// families lists the families in file order.
func (m *matrix) families() []string {
	var all []string
	for _, r := range m.rows {
		if f := r.class.Family; f != "" && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// checkUnique reports a class that repeats an earlier one's name or place.
func (m *matrix) checkUnique(i int) {
	c, r := m.rows[i].class, m.rows[i]
	for j, earlier := range m.rows[:i] {
		if c.Name != "" && c.Name == earlier.class.Name {
			r.d.report(r.fields["name"], fmt.Sprintf("%q is already the name of policy_classes[%d]", c.Name, j), "give each class a name of its own")
			break
		}
	}
	if c.Family == "" || c.Bucket == "" {
		return
	}
	for j, earlier := range m.rows[:i] {
		if c.Family == earlier.class.Family && c.Bucket == earlier.class.Bucket {
			r.d.report(r.self, fmt.Sprintf("family %q and bucket %q already lead to policy_classes[%d]", c.Family, c.Bucket, j),
				"give each pair of family and bucket one class")
			break
		}
	}
}

// checkHoles reports each bucket a family has no class for.
func (m *matrix) checkHoles(families []string) {
	for _, family := range families {
		var filled []string
		first, doubtful := object{}, false
		for _, r := range m.rows {
			if r.class.Family != family {
				continue
			}
			if first.fields == nil {
				first = r.object
			}
			doubtful = doubtful || !r.bucket
			filled = append(filled, r.class.Bucket)
		}
		for _, bucket := range m.buckets {
			if !doubtful && !slices.Contains(filled, bucket) {
				first.d.report(first.fields["policy_family"], fmt.Sprintf("family %q has no class for bucket %q", family, bucket),
					fmt.Sprintf("add a class with policy_family: %s and cache_bucket: %s", family, bucket))
			}
		}
	}
}
