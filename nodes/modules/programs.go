package modules

// ProgramsSuffix is what the folder with the node programs of a csiglab with modules has
// behind the name of the csiglab.
const ProgramsSuffix = ".programs"

// Build returns the key of this build of csiglab with modules: its node programs are of
// the same build. It is empty without modules.
func Build() string { return build }

// BuildsFolder returns the folder of the builds of csiglab with modules, each in a folder
// with its key as name. userCache is os.UserCacheDir.
func BuildsFolder(userCache func() (string, error)) (string, error) {
	dir, err := userCache()
	if err != nil {
		return "", err
	}
	return dir + "/csiglab/builds", nil
}
