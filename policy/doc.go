// Package policy holds the rules a broker queues by, and reads them from YAML.
package policy
