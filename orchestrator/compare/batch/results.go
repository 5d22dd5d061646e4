package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/csiglab/csiglab/internal/cause"
)

// Results is where pods put whole run folders, each under its trial's name (trial.Name). The
// zero value is nowhere.
type Results struct {
	Claim  string `json:"claim,omitempty"`  // a PersistentVolumeClaim of the namespace
	Bucket string `json:"bucket,omitempty"` // of an object store
	Prefix string `json:"prefix,omitempty"` // of the objects' names, without a slash at its ends

	// credentials of the object store, by the names of variables. They reach pods by a Secret.
	credentials map[string]string
}

// Variables of an object store, as other programs know them
// (docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html).
const (
	keyVariable      = "AWS_ACCESS_KEY_ID"
	secretVariable   = "AWS_SECRET_ACCESS_KEY"
	tokenVariable    = "AWS_SESSION_TOKEN"
	endpointVariable = "AWS_ENDPOINT_URL"
	storeVariable    = "AWS_ENDPOINT_URL_S3" // of the store alone
	regionVariable   = "AWS_REGION"
)

// Defaults of an object store.
const (
	defaultEndpoint = "https://s3.amazonaws.com"
	defaultRegion   = "us-east-1"
)

// Forms of names (Kubernetes: RFC 1123 subdomains; S3: bucket naming rules).
var (
	claimName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	bucketName = regexp.MustCompile(`^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$`)
)

// ParseResults reads pvc:NAME or s3://BUCKET/PREFIX. The credentials and the address of an
// object store come from the standard variables of an environment.
func ParseResults(text string, environment []string) (Results, error) {
	if name, ok := strings.CutPrefix(text, "pvc:"); ok {
		if !claimName.MatchString(name) {
			return Results{}, fmt.Errorf("%q: %q is no name of a PersistentVolumeClaim", text, name)
		}
		return Results{Claim: name}, nil
	}
	rest, ok := strings.CutPrefix(text, "s3://")
	if !ok {
		return Results{}, fmt.Errorf("%q: want pvc:NAME or s3://BUCKET/PREFIX", text)
	}
	r := Results{credentials: map[string]string{}}
	r.Bucket, r.Prefix, _ = strings.Cut(rest, "/")
	if !bucketName.MatchString(r.Bucket) {
		return Results{}, fmt.Errorf("%q: %q is no name of a bucket", text, r.Bucket)
	}
	r.Prefix = strings.Trim(r.Prefix, "/")
	if r.Prefix != "" && path.Clean("/"+r.Prefix) != "/"+r.Prefix {
		return Results{}, fmt.Errorf("%q: the prefix has empty or relative parts", text)
	}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case keyVariable, secretVariable, tokenVariable, endpointVariable, storeVariable, regionVariable:
			if value != "" {
				r.credentials[name] = value
			}
		}
	}
	for _, name := range []string{keyVariable, secretVariable} {
		if r.credentials[name] == "" {
			return Results{}, fmt.Errorf("%s: the environment variable %s is missing; %s and %s are the credentials of the object store, and %s is its address unless it is Amazon's",
				text, name, keyVariable, secretVariable, storeVariable)
		}
	}
	_, err := r.client()
	return r, err
}

// String returns the text that ParseResults reads.
func (r Results) String() string {
	switch {
	case r.Claim != "":
		return "pvc:" + r.Claim
	case r.Bucket != "":
		return "s3://" + path.Join(r.Bucket, r.Prefix)
	}
	return ""
}

// nowhere reports whether run folders are not kept.
func (r Results) nowhere() bool { return r.Claim == "" && r.Bucket == "" }

// public returns the results without credentials.
func (r Results) public() Results { return Results{Claim: r.Claim, Bucket: r.Bucket, Prefix: r.Prefix} }

// client returns a client of the object store.
func (r Results) client() (*minio.Client, error) {
	text := defaultEndpoint
	for _, name := range []string{endpointVariable, storeVariable} {
		if value := r.credentials[name]; value != "" {
			text = value
		}
	}
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.User != nil || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("%s: want http://HOST or https://HOST", storeVariable) // the text may have a password
	}
	region := defaultRegion
	if value := r.credentials[regionVariable]; value != "" {
		region = value
	}
	return minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(r.credentials[keyVariable], r.credentials[secretVariable], r.credentials[tokenVariable]),
		Secure: endpoint.Scheme == "https", Region: region,
	})
}

// readCredentials reads the files of a mounted Secret.
func (r *Results) readCredentials(folder string) error {
	r.credentials = map[string]string{}
	for _, name := range []string{keyVariable, secretVariable, tokenVariable, endpointVariable, storeVariable, regionVariable} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("credentials: %w", cause.Of(err))
		}
		r.credentials[name] = string(data)
	}
	return nil
}

// upload puts the files of a run folder into the object store.
func (r *Results) upload(ctx context.Context, folder, name string) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	return filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		_, err = client.FPutObject(ctx, r.Bucket, path.Join(r.Prefix, name, filepath.ToSlash(relative)), file, minio.PutObjectOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", relative, r.hide(err))
		}
		return nil
	})
}

// hide returns an error without what is secret, whatever a store may repeat in its answer.
func (r *Results) hide(err error) error {
	text := err.Error()
	for _, name := range []string{secretVariable, tokenVariable, keyVariable} {
		if value := r.credentials[name]; value != "" {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	return errors.New(text)
}
