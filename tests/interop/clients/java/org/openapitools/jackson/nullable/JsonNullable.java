package org.openapitools.jackson.nullable;

/**
 * For the compiler alone: what generated clients use of org.openapitools:jackson-databind-nullable, which no registry has
 * that CI installs from. It cannot be run.
 */
public final class JsonNullable<T> {
    public static native <T> JsonNullable<T> undefined();

    public static native <T> JsonNullable<T> of(T value);

    public native boolean isPresent();

    public native T get();

    public native T orElse(T other);
}
